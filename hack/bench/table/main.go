// Command table writes the figures of the last measurement into docs/benchmarks.md,
// between its two marks. It needs every report, so that the page is of one session.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

const (
	begin = "<!-- figures: written by hack/bench.sh table -->\n"
	end   = "<!-- end of figures -->\n"
)

func main() {
	in := flag.String("in", "out/bench", "folder of the reports")
	page := flag.String("page", "docs/benchmarks.md", "page to write them into")
	flag.Parse()
	if err := run(*in, *page); err != nil {
		fmt.Fprintf(os.Stderr, "bench table: %v\n", err)
		os.Exit(1)
	}
}

func run(in, page string) error {
	var r reports
	for name, into := range map[string]any{"vm": &r.vm, "lock": &r.lock, "proxy": &r.proxy, "proof": &r.proof} {
		if err := report.Read(filepath.Join(in, name+".json"), into); err != nil {
			return fmt.Errorf("%w; hack/bench.sh %s writes it", err, name)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	changed, err := replace(string(text), r.markdown())
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := os.WriteFile(page, []byte(changed), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// replace puts figures between the two marks of a page.
func replace(page, figures string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the page lacks the marks %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + strings.TrimSpace(figures) + "\n\n" + end + after, nil
}
