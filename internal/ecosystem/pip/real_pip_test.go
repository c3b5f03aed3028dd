package pip

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
)

var update = flag.Bool("update", false, "write testdata/corpus.json anew with the pip of python3")

// parsedFile is what the real pip made of one content.
type parsedFile struct {
	Content      string
	Lines        []string
	Requirements []parsedRequirement
}

type parsedRequirement struct {
	Name, Specifier, Marker string
	Link, Pinned            bool
	Hashes                  []string
}

type parsed struct {
	Pip   string
	Files []parsedFile
}

const (
	corpus = "testdata/corpus.json"
	parser = "testdata/parse.py"
)

// TestTheRecordedCorpusIsReadAsPipReadIt needs no pip. go test -run Recorded -update
// records it anew.
func TestTheRecordedCorpusIsReadAsPipReadIt(t *testing.T) {
	if *update {
		raw := ecotest.Python(t, parser, append(curious(), random(60, 1)...), new(parsed))
		if err := os.WriteFile(corpus, append(raw, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(corpus)
	if err != nil {
		t.Fatal(err)
	}
	var recorded parsed
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	if len(recorded.Files) < 80 {
		t.Fatalf("only %d files", len(recorded.Files))
	}
	compareAll(t, recorded)
}

// TestLinesAreThoseOfTheRealPip asks the pip of this machine about many more.
func TestLinesAreThoseOfTheRealPip(t *testing.T) {
	var answers parsed
	ecotest.Python(t, parser, append(curious(), random(300, rand.Uint64())...), &answers)
	compareAll(t, answers)
}

func compareAll(t *testing.T, p parsed) {
	t.Helper()
	accepted := 0
	for _, file := range p.Files {
		if got := logicalLines(file.Content); !slices.Equal(got, file.Lines) {
			t.Errorf("pip %s reads %q as\n%q, and this as\n%q", p.Pip, file.Content, file.Lines, got)
		}
		if compare(t, p.Pip, file) {
			accepted++
		}
	}
	if accepted < len(p.Files)/20 {
		t.Errorf("only %d of %d files are accepted: the comparison says little", accepted, len(p.Files))
	}
}

// compare reports whether the content is accepted; then pip must read the same out of
// it, and nothing else.
func compare(t *testing.T, version string, file parsedFile) bool {
	t.Helper()
	requirements, err := read(locking(file.Content))
	if err != nil {
		return false
	}
	if len(requirements) == 0 {
		if len(file.Requirements) != 0 {
			t.Errorf("pip %s finds requirements in %q, and this none", version, file.Content)
		}
		return false
	}
	if len(requirements) != len(file.Requirements) {
		t.Errorf("pip %s finds %d requirements in %q, and this %d", version, len(file.Requirements), file.Content, len(requirements))
		return true
	}
	for i, got := range requirements {
		want := file.Requirements[i]
		canonical, _ := pypi.CanonicalVersion(strings.TrimPrefix(want.Specifier, "=="))
		if got.name != pypi.NormalName(want.Name) || got.version != canonical || !want.Pinned || want.Link {
			t.Errorf("pip %s reads %+v in %q, and this %s %s", version, want, file.Content, got.name, got.version)
		}
		var hashes []string
		for _, hash := range got.hashes {
			hashes = append(hashes, "sha256:"+hex.EncodeToString(hash))
		}
		slices.Sort(hashes)
		if !slices.Equal(hashes, want.Hashes) {
			t.Errorf("pip %s reads hashes %v in %q, and this %v", version, want.Hashes, file.Content, hashes)
		}
	}
	return true
}

// curious are contents in which a reader that thinks otherwise than pip goes wrong.
func curious() []string {
	a := "a==1 --hash=" + hashA
	all := []string{
		"", "\n", "\\", "\\\n", "\\\\\n" + a, a, a + "\n", a + "\\", a + " \\\n", a + "\\\n\n" + a,
		"a==1 \\\n --hash=" + hashA, "a==1 \\\r\n --hash=" + hashA, "a==1 \\ \n --hash=" + hashA,
		"a==1\\\n--hash=" + hashA, "a==1 \\\n# comment\n --hash=" + hashA, "a==1 \\\n  # comment \\\n" + a,
		"# comment \\\n" + a, " # comment \\\n" + a, "a==1# no comment --hash=" + hashA, "a==1 # comment --hash=" + hashA,
		"a==1\t# comment", a + " #", a + "\t#x", "#", "##", "a#b #c", "\\a==1\\\n --hash=" + hashA, "a==\\\n1 --hash=" + hashA,
		"a==1 \\\n\\\n --hash=" + hashA, "a == 1 --hash=" + hashA, "a==1\t--hash=" + hashA, "a==1  --hash  " + hashA,
		"a[b, c]==1 --hash=" + hashA, "a==1 ; os_name == 'posix' --hash=" + hashA, "a==1;os_name=='posix' --hash=" + hashA,
		"a==1 --hash=" + hashA + " --hash=" + hashB, "a==1 --hash=" + hashA + " # tail", "A.b_C==1.0.POST1 --hash=" + hashA,
		"a==1 --hash=" + hashA + " trailing", "a==1 -- --hash=" + hashA, "--require-hashes\n" + a, "--require-hashes --require-hashes\n" + a,
		"a==1 --require-hashes", "a==1 --hash=" + hashA + "\\\n" + a, "\ufeffa==1", "a==1 \u00a0# comment", "a==1\u3000#comment",
	}
	for _, boundary := range []string{"\n", "\r", "\r\n", "\n\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\u0085", "\u2028", "\u2029"} {
		all = append(all, "# comment"+boundary+a, a+boundary+a, "a==1 \\"+boundary+" --hash="+hashA)
	}
	return all
}

// random puts pieces together that matter to a reader of lines.
func random(count int, seed uint64) []string {
	pieces := []string{
		"a==1", "b == 2.0", " --hash=" + hashA, " --hash=" + hashB, " ", "\t", "\\", "\\\n", " \\\n", "\n", "\n", "\r\n", "\r", "\f", "\v",
		"\x1c", "\x1f", "\u0085", "\u00a0", "\u2028", "#", " #", "# via a", "'", `"`, "-", "--", "--require-hashes\n", "; os_name=='posix'", "x",
		"a==1 --hash=" + hashA + "\n", "c==3 \\\n    --hash=" + hashA + " \\\n    --hash=" + hashB + "\n",
	}
	source := rand.New(rand.NewPCG(seed, 0))
	var all []string
	for range count {
		var b strings.Builder
		for range 1 + source.IntN(8) {
			b.WriteString(pieces[source.IntN(len(pieces))])
		}
		all = append(all, b.String())
	}
	return all
}
