package shim

import (
	"strings"
	"syscall"
	"testing"
)

func TestReadStatus(t *testing.T) {
	record := func(kind byte, value byte) string { return string([]byte{kind, value, 0, 0, 0}) }
	cases := map[string]struct {
		records string
		want    Status
	}{
		"a shim that never ran":                   {"", Status{}},
		"a command that could not start":          {record('f', 2), Status{Failed: syscall.ENOENT}},
		"a command that was killed with its shim": {record('s', 0), Status{Started: true}},
		"a command that ended by a signal":        {record('s', 0) + record('e', 9), Status{Started: true, Ended: true, Wait: 9}},
		"an end without a start":                  {record('e', 0), Status{}},
		"a record cut short":                      {record('s', 0) + "e\x00", Status{Started: true}},
		"a wait status that is no end":            {record('s', 0) + record('e', 0x7f), Status{Started: true, Wait: 0x7f}},
		"a third record":                          {record('s', 0) + record('e', 6) + record('e', 0), Status{Started: true, Ended: true, Wait: 6}},
		"noise":                                   {"garbage", Status{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ReadStatus(strings.NewReader(c.records)); got != c.want {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
