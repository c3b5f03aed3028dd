package relay

import (
	"testing"
	"time"
)

func TestPaceLetsABurstThroughAndSpreadsTheRest(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	for i := range paceBurst {
		if d := p.delay(now); d != 0 {
			t.Fatalf("demand %d of a burst waits %v", i, d)
		}
	}
	for i := 1; i <= 3; i++ {
		if d := p.delay(now); d != time.Duration(i)*paceInterval {
			t.Fatalf("demand %d after the burst waits %v", i, d)
		}
	}
	if d := p.delay(now.Add(time.Hour)); d != 0 {
		t.Fatalf("a demand after a rest waits %v", d)
	}
}
