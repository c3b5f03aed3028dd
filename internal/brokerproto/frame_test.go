package brokerproto_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestReaderBoundsAndEnds(t *testing.T) {
	full := strings.Repeat("x", brokerproto.MaxFrame-1) + "\n"
	cases := map[string]struct {
		stream string
		frames []int
		end    error
	}{
		"an empty stream ends at once":               {"", nil, io.EOF},
		"two lines are two frames":                   {"ab\nc\n", []int{2, 1}, io.EOF},
		"an empty line is an empty frame":            {"\n", []int{0}, io.EOF},
		"a stream cut inside a frame says so":        {"ab\nc", []int{2}, io.ErrUnexpectedEOF},
		"a frame of exactly the limit is read":       {full, []int{brokerproto.MaxFrame - 1}, io.EOF},
		"a frame one byte over the limit is refused": {"x" + full, nil, brokerproto.ErrFrameTooLarge},
		"a line that never ends is refused":          {full[:len(full)-1] + "xx", nil, brokerproto.ErrFrameTooLarge},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reader := brokerproto.NewReader(iotest.HalfReader(strings.NewReader(c.stream)))
			for i, want := range c.frames {
				frame, err := reader.ReadFrame()
				if err != nil || len(frame) != want {
					t.Fatalf("frame %d: %d bytes, %v; want %d bytes", i, len(frame), err, want)
				}
			}
			if _, err := reader.ReadFrame(); !errors.Is(err, c.end) {
				t.Fatalf("end: %v, want %v", err, c.end)
			}
		})
	}
}

func TestDecodeAcceptsOnlyWhatEncodeWrites(t *testing.T) {
	cases := map[string]struct {
		frame string
		ok    bool
	}{
		"a canonical answer":                    {`{"id":1,"data":"YQ=="}`, true},
		"an unknown member":                     {`{"id":1,"data":"YQ==","more":1}`, false},
		"a member twice":                        {`{"id":1,"id":1}`, false},
		"a member in another case":              {`{"ID":1}`, false},
		"white space":                           {`{"id": 1}`, false},
		"two values":                            {`{"id":1}{"id":2}`, false},
		"base64 with stray bits":                {`{"id":1,"data":"YR=="}`, false},
		"base64 with a line break":              {`{"id":1,"data":"YQ=\n="}`, false},
		"base64 without padding":                {`{"id":1,"data":"YQ"}`, false},
		"a null member":                         {`{"id":1,"data":null}`, false},
		"text that is not UTF-8":                {"{\"id\":1,\"error\":\"\xff\"}", false},
		"a number too large":                    {`{"id":18446744073709551616}`, false},
		"a number in another notation":          {`{"id":1e0}`, false},
		"an array instead of an object":         {`[]`, false},
		"deep nesting where a number should be": {`{"id":` + strings.Repeat("[", 20000) + `}`, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := brokerproto.Decode([]byte(c.frame), &brokerproto.Message{})
			if (err == nil) != c.ok {
				t.Fatalf("decode: %v, want ok=%v", err, c.ok)
			}
		})
	}
}

func TestWriterRefusesAFrameOverTheLimit(t *testing.T) {
	var out bytes.Buffer
	err := brokerproto.NewWriter(&out).Write(brokerproto.Message{ID: 1, Data: make([]byte, brokerproto.MaxFrame)})
	if !errors.Is(err, brokerproto.ErrFrameTooLarge) || out.Len() != 0 {
		t.Fatalf("write: %v with %d bytes out, want ErrFrameTooLarge and none", err, out.Len())
	}
}

// The largest messages the limits admit must fit one frame, or a valid command
// could not be answered.
func TestTheLargestMessagesFitOneFrame(t *testing.T) {
	worst := bytes.Repeat([]byte{0xff}, brokerproto.MaxFile)
	messages := map[string]any{
		"exec answer": brokerproto.Message{ID: 1 << 63, Exec: &brokerproto.ExecResult{
			ExitCode: -1, Signal: 64, TimedOut: true, OOMKilled: true, StdoutBytes: 1 << 62, StderrBytes: 1 << 62,
			Stdout: worst[:brokerproto.MaxStream], Stderr: worst[:brokerproto.MaxStream],
			Report: &brokerproto.Report{Data: worst[:brokerproto.MaxReport]},
		}},
		"get answer":  brokerproto.Message{ID: 1, Data: worst},
		"put request": brokerproto.Request{ID: 1, Op: brokerproto.OpPut, Put: &brokerproto.Put{Path: strings.Repeat("<", brokerproto.MaxPath), Data: worst}},
	}
	for name, message := range messages {
		t.Run(name, func(t *testing.T) {
			if _, err := brokerproto.Encode(message); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"exec":{"exitCode":0,"stdout":"YQ==","stdoutBytes":1}}`, `{"id":0,"dial":2}`, `{"id":3,"error":"io_error"}`,
		`{"id":1,"exec":{"exitCode":-1,"signal":9,"report":{"error":"absent"}}}`,
	} {
		f.Add([]byte(seed))
	}
	request := &brokerproto.Request{ID: 1, Op: brokerproto.OpExec, Exec: &brokerproto.Exec{Report: true}}
	f.Fuzz(func(t *testing.T, line []byte) {
		var message brokerproto.Message
		if brokerproto.Decode(line, &message) != nil {
			return
		}
		frame, err := brokerproto.Encode(message)
		if err != nil || !bytes.Equal(frame, append(bytes.Clone(line), '\n')) {
			t.Fatalf("accepted %q, which encodes as %q (%v)", line, frame, err)
		}
		if message.IsDial() && message.ValidateAnswer(request) == nil {
			t.Fatalf("%q is both a dial event and an answer", line)
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, request := range []brokerproto.Request{validExec(), validPut(), {ID: 1, Op: brokerproto.OpShutdown}} {
		frame, _ := json.Marshal(request)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var request brokerproto.Request
		if brokerproto.Decode(line, &request) != nil || request.Validate(brokerproto.PhaseVerification) != nil {
			return
		}
		if request.Op == brokerproto.OpExec && request.Exec.Network != brokerproto.NetworkNone {
			t.Fatalf("%q gets a network in verification", line)
		}
		if request.Op == brokerproto.OpPut && (strings.HasPrefix(request.Put.Path, "/") || strings.Contains("/"+request.Put.Path+"/", "/../")) {
			t.Fatalf("%q leaves the workspace", line)
		}
	})
}
