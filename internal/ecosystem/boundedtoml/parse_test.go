package boundedtoml

import (
	"strings"
	"testing"
	"time"
)

var limits = Limits{Bytes: 1 << 20, Depth: 8, Values: 1000}

func TestReadsDocuments(t *testing.T) {
	table, err := Parse([]byte(`
# a comment with [[[[[[[[[[[[ brackets
a.b = "[[[[[[[[[[[[["
c = '{{{{{{{{{{{{{{{'
d = """
[[[[[[[[[[[["[[[[[[[" \""""
e = '''a.b.c.d.e.f.g.h.i.j'''
f = [[1], [2], { g = [3] }]
[[p]]
x = 1
[[p]]
x = 2
`), limits)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := table["p"].([]Table); !ok || len(p) != 2 {
		t.Errorf("got %v", table)
	}
}

func TestRefusesDocuments(t *testing.T) {
	cases := []struct{ name, content, problem string }{
		{"too many bytes", strings.Repeat("#", 1<<20+1), "bytes"},
		{"what is not UTF-8", "a = '\xff'", "UTF-8"},
		{"what is not TOML", "a = ", "not valid"},
		{"the same key twice", "a = 1\na = 2", "not valid"},
		{"deep arrays", "a = " + strings.Repeat("[", 9) + strings.Repeat("]", 9), "deep"},
		{"deep inline tables", "a = " + strings.Repeat("{a=", 9) + "1" + strings.Repeat("}", 9), "deep"},
		{"a deep dotted key", strings.Repeat("a.", 9) + "a = 1", "deep"},
		{"a deep header", "[" + strings.Repeat("a.", 9) + "a]", "deep"},
		{"depth behind a string that ends in four quotes", `a = ["""x"""", ` + strings.Repeat("[", 20), "deep"},
		{"depth behind a string that ends in five quotes", `a = ['''x''''', ` + strings.Repeat("[", 20), "deep"},
		{"depth behind an empty long string", `a = ["""""", ` + strings.Repeat("[", 20), "deep"},
		{"depth behind an escaped quote", `a = ["\"", ` + strings.Repeat("[", 20), "deep"},
		{"depth behind a backslash in a literal", `a = ['\', ` + strings.Repeat("[", 20), "deep"},
		{"depth on the line after a comment", "# ' \na = " + strings.Repeat("[", 20), "deep"},
		{"closing brackets in strings between", `a = [` + strings.Repeat(`"]", [`, 20), "deep"},
		{"too many values", "a = [" + strings.Repeat("1,", 1001) + "]", "values"},
		{"too many keys", strings.Repeat("a = 1\n", 1001), "values"},
		{"a stack's worth of brackets", "a = " + strings.Repeat("[", 1<<19), "deep"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse([]byte(c.content), limits); err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got %v, want a problem with %s", err, c.problem)
			}
		})
	}
}

// TestIsFastOnWhatMakesParsersSlow has documents at which a parser that searches
// lists of keys takes minutes.
func TestIsFastOnWhatMakesParsersSlow(t *testing.T) {
	var keys, tables strings.Builder
	for i := range 40_000 {
		name := "k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26%50) + strings.Repeat("z", i/1300)
		keys.WriteString(name + " = 1\n")
		tables.WriteString("[" + name + "]\n")
	}
	for _, document := range []string{keys.String(), tables.String()} {
		start := time.Now()
		_, _ = Parse([]byte(document), Limits{Bytes: 8 << 20, Depth: 8, Values: 100_000})
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%d bytes took %s", len(document), took)
		}
	}
}

// FuzzDepth holds the scanner against the parser: what comes out is never deeper than
// what was let in.
func FuzzDepth(f *testing.F) {
	f.Add([]byte(`a = ["""x"""", [[1]]]`))
	f.Add([]byte("a.b.'c.d'.\"e\" = { f = [1] }\n[[x.y]]\nz = '''\n'''"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data, Limits{Bytes: 1 << 16, Depth: 4, Values: 100})
		// A header, a key below it and its value may each use the limit.
		if err == nil && depth(table) > 4*3+3 {
			t.Errorf("%d deep: %q", depth(table), data)
		}
	})
}

func depth(value any) int {
	deepest := 0
	switch v := value.(type) {
	case Table:
		for _, element := range v {
			deepest = max(deepest, depth(element))
		}
	case []Table:
		for _, element := range v {
			deepest = max(deepest, depth(element))
		}
	case []any:
		for _, element := range v {
			deepest = max(deepest, depth(element))
		}
	default:
		return 0
	}
	return 1 + deepest
}
