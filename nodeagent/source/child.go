package source

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// The child has two stages: it is confined as root, then executes itself again as
// nobody in particular and works.
const (
	confineStage = "confine"
	workStage    = "work"
)

// ChildMain is the entry of the child process, whose first argument is
// ChildArgument. It never returns.
func ChildMain() {
	err := childMain(os.Args[2:])
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func childMain(args []string) error {
	switch {
	case len(args) == 3 && args[0] == confineStage:
		return confine(args[1], args[2])
	case len(args) == 1 && args[0] == workStage:
		return work(os.Stdin, os.Stdout)
	default:
		return errors.New("this command is started by the node agent only")
	}
}

// work answers the one request on its input.
func work(in io.Reader, out io.Writer) error {
	input := bufio.NewReaderSize(in, 64<<10)
	r, err := readRequest(input)
	if err != nil {
		return err
	}
	var a answer
	if r.Disk != "" {
		err = writeDisk(r.Disk)
	} else {
		a, err = readBundle(input, r)
	}
	var refused *wireRefusal
	if errors.As(err, &refused) {
		a, err = answer{Refusal: refused}, nil
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

func readRequest(in *bufio.Reader) (request, error) {
	line := make([]byte, 0, 4096)
	for {
		b, err := in.ReadByte()
		if err != nil {
			return request{}, fmt.Errorf("read the request: %w", err)
		}
		if b == '\n' {
			break
		}
		if line = append(line, b); len(line) > maxRequest {
			return request{}, errors.New("the request is too long")
		}
	}
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return request{}, fmt.Errorf("read the request: %w", err)
	}
	return r, nil
}

// Error lets a refusal travel as an error inside the child.
func (w *wireRefusal) Error() string { return string(w.Detail) + ": " + w.Message }
