package follow

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Display shows a run's progress.
type Display interface {
	// Show is called with each new state of the run and about once a second.
	Show(run *v1alpha1.ZTRun, now time.Time)
	// Close ends the display; what follows starts on a line of its own.
	Close()
}

// NewTerminal shows progress as one line that is rewritten. width returns the
// terminal's width in columns; a longer line would wrap and stay.
func NewTerminal(w io.Writer, width func() int) Display {
	return &terminal{w: w, width: width}
}

type terminal struct {
	w     io.Writer
	width func() int
	last  string
}

const (
	// clearLine returns to the first column and erases the line.
	clearLine = "\r\x1b[2K"
)

func (t *terminal) Show(run *v1alpha1.ZTRun, now time.Time) {
	l := describe(run, now)
	text := fmt.Sprintf("%-13s %6s  %s", l.phase, Duration(l.elapsed), l.activity)
	text = clip(strings.TrimRight(text, " "), t.width()-1)
	if text == t.last {
		return
	}
	t.last = text
	fmt.Fprint(t.w, clearLine, text)
}

func (t *terminal) Close() {
	if t.last != "" {
		fmt.Fprint(t.w, clearLine)
	}
	t.last = ""
}

func clip(text string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-1]) + "…"
}

// NewPlain shows progress as one line for each change of phase or activity.
func NewPlain(w io.Writer) Display { return &plain{w: w} }

type plain struct {
	w     io.Writer
	last  line
	shown bool
}

func (p *plain) Show(run *v1alpha1.ZTRun, now time.Time) {
	l := describe(run, now)
	if p.shown && l.phase == p.last.phase && l.activity == p.last.activity {
		return
	}
	p.last, p.shown = l, true
	fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf("%6s  %-13s  %s", Duration(l.elapsed), l.phase, l.activity), " "))
}

func (p *plain) Close() {}

// Duration formats d to whole seconds, as people read it: 7s, 2m05s, 1h02m05s.
func Duration(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm%02ds", s/3600, s/60%60, s%60)
}
