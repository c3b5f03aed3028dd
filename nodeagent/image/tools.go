package image

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// The fixed identifiers of run disks: a random one would change the digest.
const (
	ext4UUID     = "7a740000-0000-4000-8000-000000000002"
	ext4HashSeed = "7a740000-0000-4000-8000-000000000003"
)

// run executes a tool with an environment of its own: nothing of the agent's
// reaches it, and no configuration file of the node changes its output.
func run(ctx context.Context, name string, args ...string) error {
	path, err := lookTool(name)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C", "TZ=UTC",
		// mke2fs: creation times that do not change, no defaults of the node.
		"E2FSPROGS_FAKE_TIME=1", "MKE2FS_CONFIG=/dev/null",
	}
	cmd.Dir = "/"
	cmd.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, safetext.Tail(output.Bytes(), 512))
	}
	return nil
}

// lookTool finds a tool in the system's folders; PATH has no say.
func lookTool(name string) (string, error) {
	var missing error
	for _, dir := range strings.Split("/usr/bin:/usr/sbin:/bin:/sbin:/usr/local/bin", ":") {
		path, err := exec.LookPath(dir + "/" + name)
		if err == nil {
			return path, nil
		}
		missing = err
	}
	return "", fmt.Errorf("%s is not installed on the node: %w", name, missing)
}

// makeExt4 turns an empty file of the final size into a file system without a
// journal: a run disk is destroyed after any unclean stop, never recovered.
// Inode tables are zero already in a sparse file, so none is left to a guest.
func makeExt4(ctx context.Context, image string) error {
	return run(ctx, "mke2fs", "-q", "-F", "-t", "ext2", "-b", "4096", "-I", "256", "-i", "8192", "-m", "0",
		"-O", "none,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,"+
			"large_file,huge_file,dir_nlink,extra_isize,metadata_csum",
		"-E", "lazy_itable_init=0,nodiscard,root_owner=0:0,hash_seed="+ext4HashSeed,
		"-U", ext4UUID, image)
}
