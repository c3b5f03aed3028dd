package worker

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestCaptureKeepsHeadAndTailWhateverTheChunks(t *testing.T) {
	stream := make([]byte, 3*brokerproto.MaxStream+77)
	for i := range stream {
		stream[i] = byte(i * 7 / 3)
	}
	for _, size := range []int{0, 1, half - 1, half, half + 1, 2*half - 1, 2 * half, 2*half + 1, 3*half + 5, len(stream)} {
		for _, chunk := range []int{1 << 10, half, half + 1, 2*half + 3, len(stream)} {
			c := &capture{}
			for rest := stream[:size]; len(rest) > 0; {
				n := min(chunk, len(rest))
				_, _ = c.Write(rest[:n])
				rest = rest[n:]
			}
			want := stream[:size]
			if size > 2*half {
				want = append(bytes.Clone(stream[:half]), stream[size-half:size]...)
			}
			if got := c.bytes(); !bytes.Equal(got, want) || c.total != int64(size) {
				t.Fatalf("%d bytes in chunks of %d: kept %d, want %d; total %d", size, chunk, len(got), len(want), c.total)
			}
		}
	}
}

func TestDrainCountsAll(t *testing.T) {
	c := drain(strings.NewReader(strings.Repeat("x", 1<<20)))
	if c.total != 1<<20 || len(c.bytes()) != brokerproto.MaxStream {
		t.Fatalf("total %d, kept %d", c.total, len(c.bytes()))
	}
}
