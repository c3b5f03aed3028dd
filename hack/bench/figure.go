package main

import (
	"slices"
	"time"
)

// figure is one measured step over several runs, in milliseconds.
type figure struct {
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	Max    int64 `json:"max"`
	Runs   int   `json:"runs"`
}

// samples collects the durations of named steps.
type samples map[string][]time.Duration

// step times what it runs under a name.
func (s samples) step(name string, work func() error) error {
	start := time.Now()
	if err := work(); err != nil {
		return err
	}
	s[name] = append(s[name], time.Since(start))
	return nil
}

func (s samples) figures() map[string]figure {
	out := make(map[string]figure, len(s))
	for name, durations := range s {
		out[name] = summarize(durations)
	}
	return out
}

func summarize(durations []time.Duration) figure {
	sorted := slices.Sorted(slices.Values(durations))
	return figure{
		Min:    sorted[0].Milliseconds(),
		Median: sorted[len(sorted)/2].Milliseconds(),
		Max:    sorted[len(sorted)-1].Milliseconds(),
		Runs:   len(sorted),
	}
}
