package relay

import (
	"io"
	"net"
	"sync"
)

// splice copies between two connections until both directions have ended. One that
// ends closes only its own direction: a client may send its whole request, close,
// and still wait for the answer.
func splice(a, b net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { copyHalf(a, b) })
	both.Go(func() { copyHalf(b, a) })
	both.Wait()
}

func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, can := to.(interface{ CloseWrite() error })
	if err == nil && can && half.CloseWrite() == nil {
		return
	}
	// A reset, or no half to close: the other direction ends too.
	_ = to.Close()
	_ = from.Close()
}
