package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// progress marks the block of constants that explain a condition and end no run.
const progress = "Progress reasons"

func TestCatalogueExplainsEveryCodeOnce(t *testing.T) {
	count := map[Detail]int{}
	for _, section := range Catalogue {
		for _, entry := range section.Entries {
			count[entry.Detail]++
			if entry.Result == "" || !strings.HasSuffix(entry.Meaning, ".") || !strings.HasSuffix(entry.Remedy, ".") {
				t.Errorf("%s: incomplete entry %+v", entry.Detail, entry)
			}
		}
	}
	for detail, declared := range declaredDetails(t) {
		if declared.progress {
			if count[detail] > 1 {
				t.Errorf("%s has %d entries", detail, count[detail])
			}
			continue
		}
		if count[detail] != 1 {
			t.Errorf("%s has %d entries, want 1", detail, count[detail])
		}
	}
	for detail := range count {
		if _, declared := declaredDetails(t)[detail]; !declared {
			t.Errorf("%s is not declared in reasons.go", detail)
		}
	}
}

type declaration struct{ progress bool }

// declaredDetails reads the constants of reasons.go, so that a new one cannot be
// forgotten in the catalogue.
func declaredDetails(t *testing.T) map[Detail]declaration {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	details := map[Detail]declaration{}
	for _, decl := range file.Decls {
		constants, ok := decl.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				details[Detail(text)] = declaration{strings.HasPrefix(constants.Doc.Text(), progress)}
			}
		}
	}
	return details
}

func TestReasonIsTheCodeInCamelCase(t *testing.T) {
	for detail, want := range map[Detail]string{
		DetailBundleMissing:            "BundleMissing",
		DetailVMLost:                   "VmLost",
		DetailNetworkPresent:           "NetworkPresentInVerification",
		Detail("double__underscores_"): "DoubleUnderscores",
	} {
		if got := detail.Reason(); got != want {
			t.Errorf("%q.Reason() = %q, want %q", detail, got, want)
		}
	}
}

func TestResultOfAnUnknownCodeIsNeverAVerdict(t *testing.T) {
	if got := ResultOf("no_such_code"); got != ResultExecutionFailed {
		t.Errorf("got %s", got)
	}
}
