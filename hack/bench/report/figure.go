package report

import (
	"slices"
	"time"
)

// Figure is one thing measured several times. Its unit is in its name.
type Figure struct {
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	Max    int64 `json:"max"`
	N      int   `json:"n"`
}

// Summarize makes a figure of values. Without any it is the zero Figure.
func Summarize(values []int64) Figure {
	if len(values) == 0 {
		return Figure{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Figure{Min: sorted[0], Median: median, Max: sorted[len(sorted)-1], N: len(sorted)}
}

// Samples collects measured values by name.
type Samples map[string][]int64

// Add adds a duration, in milliseconds.
func (s Samples) Add(name string, d time.Duration) { s[name] = append(s[name], d.Milliseconds()) }

// Step adds how long work took, if it succeeded.
func (s Samples) Step(name string, work func() error) error {
	start := time.Now()
	if err := work(); err != nil {
		return err
	}
	s.Add(name, time.Since(start))
	return nil
}

// Figures summarizes all that was collected.
func (s Samples) Figures() map[string]Figure {
	out := make(map[string]Figure, len(s))
	for name, values := range s {
		out[name] = Summarize(values)
	}
	return out
}
