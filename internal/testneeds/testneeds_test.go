package testneeds

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// outcome records how a test that asks for something ends.
type outcome struct {
	testing.TB
	failed, skipped bool
}

func (o *outcome) Helper()               {}
func (o *outcome) Fatalf(string, ...any) { o.failed = true; runtime.Goexit() }
func (o *outcome) Skip(...any)           { o.skipped = true; runtime.Goexit() }

func outcomeOf(ask func(testing.TB)) *outcome {
	o, done := &outcome{}, make(chan struct{})
	go func() {
		defer close(done)
		ask(o)
	}()
	<-done
	return o
}

func TestWhatIsNotThereFailsTheTest(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ZT_TEST_NOTHING", filepath.Join(t.TempDir(), "none"))
	for name, ask := range map[string]func(testing.TB){
		"a program that is not in PATH": func(t testing.TB) { Tool(t, "sh") },
		"a file that does not exist":    func(t testing.TB) { File(t, "ZT_TEST_NOTHING") },
		"a variable that is not set":    func(t testing.TB) { File(t, "ZT_TEST_UNSET") },
	} {
		t.Run(name, func(t *testing.T) {
			if o := outcomeOf(ask); !o.failed || o.skipped {
				t.Errorf("failed: %v, skipped: %v", o.failed, o.skipped)
			}
		})
	}
}

func TestOnlyOthersThanRootSkip(t *testing.T) {
	if o := outcomeOf(Root); o.failed || o.skipped != (os.Geteuid() != 0) {
		t.Errorf("failed: %v, skipped: %v for uid %d", o.failed, o.skipped, os.Geteuid())
	}
}

func TestWhatIsThereIsReturned(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("ZT_TEST_DIR", dir)
	want := filepath.Join(dir, "tool")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Tool(t, "tool"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := File(t, "ZT_TEST_DIR"); got != dir {
		t.Errorf("got %s, want %s", got, dir)
	}
}
