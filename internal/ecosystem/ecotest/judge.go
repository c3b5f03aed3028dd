package ecotest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// Output runs a command and returns what it wrote to its standard output. A command
// that fails, fails the test with what it complained of.
func Output(t testing.TB, cmd *exec.Cmd) []byte {
	t.Helper()
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, complaint.String())
	}
	return output
}

// Python asks a script, run by this machine's python3 and so with its pip, a question
// and decodes the answer; both are JSON. It returns the answer's own bytes too.
func Python(t testing.TB, script string, question, answer any) []byte {
	t.Helper()
	input, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testneeds.Tool(t, "python3"), "-I", script)
	cmd.Stdin = bytes.NewReader(input)
	output := Output(t, cmd)
	if err := json.Unmarshal(output, answer); err != nil {
		t.Fatal(err)
	}
	return output
}
