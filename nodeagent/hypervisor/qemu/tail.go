package qemu

import "sync"

// tail keeps the last bytes written to it. Writes never fail and never block, so
// a QEMU that floods its stderr costs nothing but its own time.
type tail struct {
	limit int

	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-t.limit):]...)
	if extra := len(t.kept) - t.limit; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// suffix is what was kept, for the end of an error message.
func (t *tail) suffix() string {
	if text := t.String(); text != "" {
		return ": " + text
	}
	return ""
}
