package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// sandbox is the private folder of one source, and the children that work in it:
// root is the mount point of their file system, work belongs to their uid. The
// folder around both is ours, so no other process of that uid reaches either.
type sandbox struct {
	dir                string
	uid                uint32
	exe                string
	readTime, diskTime time.Duration
	// disks are built one at a time: each is diskName until it is collected.
	disks sync.Mutex
}

const (
	rootName = "root"
	workName = "work"
	diskName = "disk.erofs" // in work
)

func (r *Reader) newSandbox(dir string, uid uint32) (*sandbox, error) {
	if uid == 0 {
		return nil, errors.New("read a source: the child's uid must not be root's")
	}
	folder, err := os.MkdirTemp(dir, "source-")
	if err != nil {
		return nil, fmt.Errorf("read a source: %w", err)
	}
	box := &sandbox{dir: folder, uid: uid, exe: r.Exe, readTime: r.readTime, diskTime: r.diskTime}
	if box.exe == "" {
		box.exe = "/proc/self/exe"
	}
	if box.readTime == 0 {
		box.readTime = defaultReadTime
	}
	if box.diskTime == 0 {
		box.diskTime = defaultDiskTime
	}
	if err := box.furnish(); err != nil {
		_ = box.remove() // the first error says more
		return nil, fmt.Errorf("read a source: %w", err)
	}
	return box, nil
}

func (b *sandbox) furnish() error {
	if err := os.Mkdir(filepath.Join(b.dir, rootName), 0o700); err != nil {
		return err
	}
	work := filepath.Join(b.dir, workName)
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	return os.Lchown(work, int(b.uid), int(b.uid))
}

func (b *sandbox) remove() error { return os.RemoveAll(b.dir) }

func (b *sandbox) read(ctx context.Context, wanted request, bundle []byte) (*parsed, error) {
	output, err := b.child(ctx, b.readTime, wanted, bundle)
	if err != nil {
		return nil, err
	}
	return parseAnswer(wanted, output)
}

func (b *sandbox) disk(ctx context.Context, tree, path string) error {
	b.disks.Lock()
	defer b.disks.Unlock()
	wanted := request{Disk: tree}
	output, err := b.child(ctx, b.diskTime, wanted, nil)
	if err == nil {
		_, err = parseAnswer(wanted, output)
	}
	if err != nil {
		return err
	}
	return b.collect(path)
}

// child runs the child to its end. Its death ends everything it started: it is
// the first process of a process namespace.
func (b *sandbox) child(ctx context.Context, limit time.Duration, r request, bundle []byte) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(bounded, b.exe, ChildArgument, confineStage, b.dir, strconv.Itoa(int(b.uid)))
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(line, '\n')), bytes.NewReader(bundle))
	output := &boundedBuffer{left: r.maxAnswer()}
	complaint := &boundedBuffer{left: maxStderr, drop: true}
	cmd.Stdout, cmd.Stderr = output, complaint
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig: syscall.SIGKILL,
	}
	// The parent that Pdeathsig watches is the thread, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case bounded.Err() != nil:
		return nil, refusal.New(v1alpha1.DetailBundleInvalid, "",
			fmt.Sprintf("reading it took longer than %s; pack less history", limit))
	case output.overflowed:
		return nil, errors.New("the source reader's answer is longer than any may be")
	case err != nil:
		return nil, fmt.Errorf("the source reader failed: %w: %s", err, safetext.Tail(complaint.Bytes(), 256))
	}
	return output.Bytes(), nil
}

// boundedBuffer keeps at most left bytes. What comes then is dropped or, without
// drop, an error that ends the copying.
type boundedBuffer struct {
	bytes.Buffer
	left       int64
	drop       bool
	overflowed bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if int64(len(p)) <= b.left {
		b.left -= int64(len(p))
		return b.Buffer.Write(p)
	}
	b.Buffer.Write(p[:b.left])
	b.left, b.overflowed = 0, true
	if b.drop {
		return len(p), nil
	}
	return 0, io.ErrShortWrite
}

// ReadFrom hides that of bytes.Buffer, which knows no bound.
func (b *boundedBuffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}
