package report

import (
	"errors"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	for name, tc := range map[string]struct {
		values []int64
		want   Figure
	}{
		"nothing was measured":                            {nil, Figure{}},
		"one value is all four":                           {[]int64{7}, Figure{7, 7, 7, 1}},
		"the median of an odd number is the middle one":   {[]int64{9, 1, 4}, Figure{1, 4, 9, 3}},
		"the median of an even number is between the two": {[]int64{10, 2, 4, 6}, Figure{2, 5, 10, 4}},
		"the order in which it was measured says nothing": {[]int64{3, 2, 1}, Figure{1, 2, 3, 3}},
		"an outlier moves the maximum and not the median": {[]int64{1, 1, 1, 1, 900}, Figure{1, 1, 900, 5}},
		"equal values are equal in all but their number":  {[]int64{5, 5}, Figure{5, 5, 5, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Summarize(tc.values); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestAStepThatFailsIsNotMeasured(t *testing.T) {
	s, broken := Samples{}, errors.New("broken")
	if err := s.Step("x", func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	s.Add("x", 1500*time.Millisecond)
	if f := s.Figures()["x"]; f != (Figure{1500, 1500, 1500, 1}) {
		t.Errorf("%+v", f)
	}
}
