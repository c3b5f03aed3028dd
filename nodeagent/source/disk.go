package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// Owner of everything on a tree's disk: the worker's user in the VM.
const workerID = 1000

const treeUUID = "7a740000-0000-4000-8000-000000000004"

// writeDisk writes a tree of the repository as an erofs image. It runs in the
// child. Symbolic links are kept, wherever they point: they are the repository's
// own and mean something only inside the VM; nothing here follows one.
func writeDisk(tree string) error {
	if !objectID.MatchString(tree) {
		return errors.New("write a disk: no object id")
	}
	files, err := list(tree)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(workInRoot, "tree-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o755); err != nil {
		return err
	}
	if err := writeFiles(folder, files); err != nil {
		return err
	}
	return pack(folder, filepath.Join(workInRoot, diskName))
}

func writeFiles(folder string, files []file) error {
	made := map[string]bool{".": true}
	return eachBlob(files, func(f file, content io.Reader) error {
		if parent := filepath.Dir(f.path); !made[parent] {
			if err := os.MkdirAll(filepath.Join(folder, parent), 0o755); err != nil {
				return err
			}
			made[parent] = true
		}
		return writeFile(filepath.Join(folder, f.path), f, content)
	})
}

func writeFile(path string, f file, content io.Reader) error {
	if f.link {
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if bytes.IndexByte(target, 0) >= 0 {
			return unsupported(f.path, "it has a symbolic link with an impossible target")
		}
		return os.Symlink(string(target), path)
	}
	mode := os.FileMode(0o644)
	if f.executable {
		mode = 0o755
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if closing := out.Close(); err == nil {
		err = closing
	}
	return err
}

// pack makes the image: the same tree is the same bytes.
func pack(folder, image string) error {
	cmd := exec.Command("/usr/bin/mkfs.erofs", "--quiet", "-x-1", "-T0", "-U"+treeUUID,
		fmt.Sprintf("--force-uid=%d", workerID), fmt.Sprintf("--force-gid=%d", workerID), image, folder)
	complaint := &boundedBuffer{left: maxStderr, drop: true}
	cmd.Stderr = complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mkfs.erofs: %w: %s", err, safetext.Tail(complaint.Bytes(), 256))
	}
	return nil
}
