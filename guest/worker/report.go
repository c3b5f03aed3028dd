package worker

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/guest/workspace"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// reportOptions bound the report folder: it is a tmpfs of its own, so a worker can
// fill neither memory nor the run disk through it.
const reportOptions = "mode=0755,uid=1000,gid=1000,size=8m,nr_inodes=256"

// newReportFolder mounts a fresh, empty folder at dir.
func newReportFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, reportOptions)
	if err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	return nil
}

// closeReportFolder drops the folder with all that is in it.
func closeReportFolder(dir string) error {
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("report folder: %w", err)
	}
	return nil
}

// readReport reads what the worker left in its report folder.
func readReport(dir string) *brokerproto.Report {
	folder, err := workspace.Open(dir)
	if err != nil {
		return &brokerproto.Report{Error: brokerproto.ReportUnreadable}
	}
	defer folder.Close()
	data, err := folder.Read(path.Base(brokerproto.ReportFile), brokerproto.MaxReport)
	switch {
	case err == nil:
		return &brokerproto.Report{Data: data}
	case errors.Is(err, workspace.ErrNotFound):
		return &brokerproto.Report{Error: brokerproto.ReportAbsent}
	case errors.Is(err, workspace.ErrNotRegular):
		return &brokerproto.Report{Error: brokerproto.ReportNotRegular}
	case errors.Is(err, workspace.ErrTooLarge):
		return &brokerproto.Report{Error: brokerproto.ReportTooLarge}
	default:
		return &brokerproto.Report{Error: brokerproto.ReportUnreadable}
	}
}
