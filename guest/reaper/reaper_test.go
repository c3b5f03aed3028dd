package reaper_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/guest/reaper"
)

func TestSpawnReportsEveryEnd(t *testing.T) {
	children := reaper.Start()
	for code := range 20 {
		script := "exit " + string(rune('0'+code%10))
		_, ended, err := children.Spawn("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{Env: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case status := <-ended:
			if status.ExitStatus() != code%10 {
				t.Errorf("%s: status %d", script, status.ExitStatus())
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: its end was not reported", script)
		}
	}
	if _, _, err := children.Spawn("/no/such/program", nil, &syscall.ProcAttr{}); err == nil {
		t.Error("a program that is not there was started")
	}
}
