// Command proof submits the fixtures to a cluster, one after the other, and writes what
// the runs measured of themselves and what was seen of their pods. It needs a cluster
// with the chart installed and nothing else running on it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

func main() {
	var b bench
	out := flag.String("out", "out/bench/proof.json", "file to write")
	ecosystems := flag.String("ecosystems", "npm,pip,uv", "fixtures to prove")
	flag.StringVar(&b.repositories, "repositories", "out/bench/repositories", "folder of the fixtures' repositories, as hack/demo/repository.sh makes them")
	flag.StringVar(&b.profile, "profile", "default", "ZTProfile of the runs")
	flag.StringVar(&b.runNamespace, "run-namespace", "zt-runs", "namespace of the runs' pods")
	flag.IntVar(&b.rounds, "rounds", 1, "runs of each fixture")
	flag.DurationVar(&b.timeout, "timeout", 10*time.Minute, "longest time for one run")
	flag.Parse()
	b.ecosystems = strings.Split(*ecosystems, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &b, *out); err != nil {
		fmt.Fprintf(os.Stderr, "bench proof: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, b *bench, out string) error {
	result := report.Proof{Header: report.Begin(), Record: report.Record(), Millis: map[string]map[string]report.Figure{}}
	if err := b.connect(ctx); err != nil {
		return err
	}
	var err error
	if result.Images, err = b.images(ctx); err != nil {
		return err
	}
	if result.Runs, err = b.measure(ctx); err != nil {
		return err
	}
	for _, ecosystem := range b.ecosystems {
		result.Millis[ecosystem] = report.Summary(of(ecosystem, result.Runs))
	}
	result.End()
	if err := report.Write(out, result); err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	fmt.Println("written to", out)
	return nil
}

func of(ecosystem string, runs []report.Run) (some []report.Run) {
	for _, run := range runs {
		if run.Ecosystem == ecosystem {
			some = append(some, run)
		}
	}
	return some
}
