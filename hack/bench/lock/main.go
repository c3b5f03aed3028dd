// Command lock reads what go test -bench -benchmem prints on its standard input and
// writes lock.json.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

func main() {
	out := flag.String("out", "out/bench/lock.json", "file to write")
	flag.Parse()
	if err := run(os.Stdin, *out); err != nil {
		fmt.Fprintf(os.Stderr, "bench lock: %v\n", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out string) error {
	result := report.Lock{Header: report.Begin()}
	var err error
	if result.Benchmarks, err = parse(in); err != nil {
		return err
	}
	result.End()
	if err := report.Write(out, result); err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	fmt.Println("written to", out)
	return nil
}
