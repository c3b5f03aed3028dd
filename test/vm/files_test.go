//go:build vm

package vm_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
)

func slugOf(err error) string {
	var refused *broker.GuestError
	if errors.As(err, &refused) {
		return refused.Slug
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestPutAndGet(t *testing.T) {
	v := newMachine(t, map[string]string{"tree.txt": "from the tree"}).boot(t, brokerproto.PhaseVerification)
	big := bytes.Repeat([]byte("0123456789abcdef"), brokerproto.MaxFile/16)
	must(t, v.Put(t.Context(), brokerproto.Put{Path: "new/sub/big", Mode: 0o640, Data: big}))
	must(t, v.Put(t.Context(), brokerproto.Put{Path: "tree.txt", Mode: 0o755, Data: []byte("#!/bin/sh\necho ran\n")}))
	if got := v.sh("./tree.txt; stat -c '%u:%g %a %s' new/sub/big new; rm new/sub/big"); got != "ran\n1000:1000 640 1048576\n1000:1000 755 4096" {
		t.Errorf("got %q", got)
	}
	must(t, v.Put(t.Context(), brokerproto.Put{Path: "big", Mode: 0o644, Data: big}))
	data, err := v.Get(t.Context(), brokerproto.Get{Path: "big"})
	if err != nil || !bytes.Equal(data, big) {
		t.Errorf("get: %d bytes, %v", len(data), err)
	}
}

func TestPutAndGetAgainstAHostileWorkspace(t *testing.T) {
	v := newMachine(t, nil).boot(t, brokerproto.PhaseVerification)
	v.sh(`ln -s /etc/passwd link; ln -s / up; ln -s . self; mkfifo fifo; mkdir dir; ln -s /dev/zero zero
		head -c 2000000 /dev/zero >large; ln -s dir dirlink; echo x >dir/x; ln -s loop loop; mkfifo dir/fifo
		node -e 'require("net").createServer().listen("sock",()=>process.exit(0))'; ls -A`)
	for path, want := range map[string]string{
		"link": "not_regular", "up/etc/passwd": "not_regular", "self/dir/x": "not_regular", "fifo": "not_regular",
		"dir": "not_regular", "zero": "not_regular", "large": "too_large", "dirlink/x": "not_regular", "loop": "not_regular",
		"absent": "not_found", "absent/x": "not_found", "large/x": "not_regular", "dir/x": "", "sock": "not_regular",
	} {
		_, err := v.Get(t.Context(), brokerproto.Get{Path: path})
		if got := slugOf(err); got != want && (path != "sock" || got != "not_found") {
			t.Errorf("get %s: %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"link": "not_regular", "up/x": "not_regular", "dirlink/x": "not_regular", "fifo": "not_regular", "dir": "not_regular",
		"dir/fifo": "not_regular", "large/x": "not_regular", "dir/x": "", "loop/x": "not_regular",
	} {
		err := v.Put(t.Context(), brokerproto.Put{Path: path, Mode: 0o644, Data: []byte("put")})
		if got := slugOf(err); got != want {
			t.Errorf("put %s: %q, want %q", path, got, want)
		}
	}
	if err := v.Put(t.Context(), brokerproto.Put{Path: "../x", Mode: 0o644}); !errors.As(err, new(*broker.RequestError)) {
		t.Errorf("put outside: %v, want the host to refuse it", err)
	}
}

func TestReports(t *testing.T) {
	v := newMachine(t, nil).boot(t, brokerproto.PhaseVerification)
	reporting := func(e *brokerproto.Exec) { e.Report = true }
	cases := []struct{ name, script, data, err string }{
		{"a report is read back", "echo '<r/>' >/ztfc/report/report.xml", "<r/>\n", ""},
		{"the next command finds a fresh folder", "ls /ztfc/report | grep . && exit 1; true", "", "absent"},
		{"an empty report is empty", ": >/ztfc/report/report.xml", "", ""},
		{"a symbolic link is not followed", "ln -s /etc/passwd /ztfc/report/report.xml", "", "not_regular"},
		{"a FIFO does not block", "mkfifo /ztfc/report/report.xml", "", "not_regular"},
		{"a folder is no report", "mkdir /ztfc/report/report.xml", "", "not_regular"},
		{"a report over the limit is refused", "head -c 262145 /dev/zero >/ztfc/report/report.xml", "", "too_large"},
		{"a sparse giant is refused", "truncate -s 7M /ztfc/report/report.xml", "", "too_large"},
		{"an unreadable mode does not matter to the agent", "echo x >/ztfc/report/report.xml; chmod 000 /ztfc/report/report.xml", "x\n", ""},
		{"the folder cannot take much", "head -c 100000000 /dev/zero >/ztfc/report/x; rm /ztfc/report/x", "", "absent"},
		{"the folder cannot be replaced", "rmdir /ztfc/report; mv /ztfc/report /ztfc/x; test -d /ztfc/report", "", "absent"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v.t = t
			r := v.run(reporting, "sh", "-c", c.script)
			if r.ExitCode != 0 {
				t.Fatalf("exit %d: %s%s", r.ExitCode, r.Stdout, r.Stderr)
			}
			if r.Report.Error != c.err || string(r.Report.Data) != c.data {
				t.Errorf("report %q, error %q; want %q, %q", r.Report.Data, r.Report.Error, c.data, c.err)
			}
		})
	}
}
