package brokerproto

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Errors of framing. Each leaves the stream unusable.
var (
	// ErrFrameTooLarge: a line is longer than MaxFrame.
	ErrFrameTooLarge = errors.New("frame exceeds the limit")
	// ErrNotCanonical: a line is JSON, but not exactly what Encode writes for the
	// message it holds: an unknown or doubled member, another spelling of base64,
	// white space.
	ErrNotCanonical = errors.New("frame is not canonical")
)

// Reader reads frames, each one line of at most MaxFrame bytes.
type Reader struct {
	buffered *bufio.Reader
}

// NewReader returns a Reader on r. It reads ahead: use one Reader for the whole
// life of a stream.
func NewReader(r io.Reader) *Reader {
	return &Reader{buffered: bufio.NewReaderSize(r, 64<<10)}
}

// ReadFrame returns the next line without its newline. It keeps at most MaxFrame
// bytes in memory. A stream that ends between frames is io.EOF, one that ends
// inside a frame io.ErrUnexpectedEOF.
func (r *Reader) ReadFrame() ([]byte, error) {
	var frame []byte
	for {
		part, err := r.buffered.ReadSlice('\n')
		if len(frame)+len(part) > MaxFrame {
			return nil, ErrFrameTooLarge
		}
		frame = append(frame, part...)
		switch {
		case err == nil:
			return frame[:len(frame)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(frame) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// Read reads the next frame and decodes it into message.
func (r *Reader) Read(message any) error {
	frame, err := r.ReadFrame()
	if err != nil {
		return err
	}
	return Decode(frame, message)
}

// Decode decodes one frame, without its newline, into message, a pointer to a
// zero message of this package. It accepts only the bytes that Encode writes, so
// a frame has one meaning and nothing travels beside it.
func Decode(frame []byte, message any) error {
	if err := json.Unmarshal(frame, message); err != nil {
		return fmt.Errorf("decode frame: %w", err)
	}
	again, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("decode frame: %w", err)
	}
	if !bytes.Equal(again, frame) {
		return ErrNotCanonical
	}
	return nil
}

// Encode returns message as one frame, newline included.
func Encode(message any) ([]byte, error) {
	frame, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode frame: %w", err)
	}
	if len(frame)+1 > MaxFrame {
		return nil, ErrFrameTooLarge
	}
	return append(frame, '\n'), nil
}

// Writer writes frames. Several goroutines may use it at once.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w}
}

// Write encodes message and writes it as one frame.
func (w *Writer) Write(message any) error {
	frame, err := Encode(message)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(frame); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}
