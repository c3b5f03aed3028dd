package policy

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/internal/safetext"
)

const (
	// maxExcerpt bounds the entries of one class in an excerpt.
	maxExcerpt = 32
	// maxExcerptLine bounds one of them, in bytes.
	maxExcerptLine = 256
)

// excerpt keeps the first log entries of each class, in the log's order: a flood of one
// class hides none of another.
type excerpt struct {
	lines []string
	kept  map[class]int
}

func (x *excerpt) add(e entry, as class, rule string) {
	if x.kept[as] == maxExcerpt {
		return
	}
	if x.kept == nil {
		x.kept = map[class]int{}
	}
	x.kept[as]++
	x.lines = append(x.lines, safetext.Line(fmt.Sprintf("%s: %s %d by %s, %d bytes, %s %s",
		as, e.Result, e.Status, rule, e.ReplyBytes, e.Method, e.URL), maxExcerptLine))
}
