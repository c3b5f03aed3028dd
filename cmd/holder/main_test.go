package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAHolderHoldsUntilItIsTold(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := run(ctx, nil); err != nil || ctx.Err() == nil {
		t.Errorf("ended early, or with %v", err)
	}
	for _, args := range [][]string{{"sh"}, {"cache-audit"}, {"probe-dial"}, {"probe-dial", "n1=evil.test"}, {"probe-dial", "n1=::1"}, {"probe-dial", "10.0.0.1"}, {"probe-dial", "=10.0.0.1"}, {"probe-dial", "n1=127.0.0.1", "x"}, {"probe-serve", "x"}} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestATerminatedHolderIsNoSuccess(t *testing.T) {
	told, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		want int
	}{
		"its work is done":         {context.Background(), nil, 0},
		"it was told to end":       {told, nil, 143},
		"it failed":                {context.Background(), errors.New("no port"), 1},
		"it failed while ending":   {told, errors.New("no port"), 1},
		"its status is the answer": {told, exitStatus{3, "not enforced"}, 3},
	} {
		if got := end(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%s: status %d, want %d", name, got, tc.want)
		}
	}
}
