package report

// RecordFigure is one range of the original record, in milliseconds. Zero: it has no
// such figure.
type RecordFigure struct {
	Step   string `json:"step"`
	KVMMin int64  `json:"kvmMinMillis,omitempty"`
	KVMMax int64  `json:"kvmMaxMillis,omitempty"`
	TCGMin int64  `json:"tcgMinMillis,omitempty"`
	TCGMax int64  `json:"tcgMaxMillis,omitempty"`
	Source string `json:"source"`
}

const (
	recordProxy   = "the original record, package proxy, timings"
	recordProfile = "the original record, execution profile, measured overhead"
)

// Record is what the original record says about the same steps: an Ubuntu cloud image
// with Docker, on GitHub-hosted runners, its TCG job with the npm fixture only.
func Record() []RecordFigure {
	return []RecordFigure{
		{"boot", 7_800, 9_900, 88_000, 107_000, recordProxy},
		{"phaseSwitch", 8_300, 10_800, 108_000, 128_000, recordProxy},
		{"npm provision", 920, 1_470, 14_100, 18_500, recordProxy},
		{"npm rebuild", 820, 1_170, 11_800, 14_500, recordProxy},
		{"npm suite", 370, 570, 6_400, 7_900, recordProxy},
		{"pip provision", 4_000, 5_500, 0, 0, recordProxy},
		{"uv provision", 1_200, 1_600, 0, 0, recordProxy},
		{"proxyReady", 30_000, 30_000, 0, 0, recordProxy},
		{"nodeWarm", 520, 570, 5_000, 7_600, recordProfile},
		{"destroy", 100, 100, 100, 100, recordProfile},
	}
}

// RecordOf is the record's figure of a step.
func RecordOf(step string) (RecordFigure, bool) {
	for _, f := range Record() {
		if f.Step == step {
			return f, true
		}
	}
	return RecordFigure{}, false
}
