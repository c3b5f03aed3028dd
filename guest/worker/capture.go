package worker

import (
	"io"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// half is how much of a stream's head and of its tail is kept.
const half = brokerproto.MaxStream / 2

// capture keeps the first and last half of a stream that may never end.
type capture struct {
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
}

// Write takes the next bytes of the stream. It never fails.
func (c *capture) Write(data []byte) (int, error) {
	written := len(data)
	c.total += int64(written)
	if room := half - len(c.head); room > 0 {
		n := min(room, len(data))
		c.head = append(c.head, data[:n]...)
		data = data[n:]
	}
	for len(data) > 0 {
		data = data[c.fill(data):]
	}
	return written, nil
}

// fill puts a part of data into the ring and returns its length.
func (c *capture) fill(data []byte) int {
	if len(c.tail) < half {
		n := min(half-len(c.tail), len(data))
		c.tail = append(c.tail, data[:n]...)
		return n
	}
	n := copy(c.tail[c.next:], data)
	c.next = (c.next + n) % half
	return n
}

// bytes returns what was kept, in the order of writing.
func (c *capture) bytes() []byte {
	kept := append(c.head, c.tail[c.next:]...)
	return append(kept, c.tail[:c.next]...)
}

// drain reads a stream to its end.
func drain(stream io.Reader) *capture {
	c := &capture{}
	_, _ = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{stream}, make([]byte, 32<<10))
	return c
}
