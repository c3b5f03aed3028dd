package pep440

import (
	"strings"
	"testing"
)

// Compared with pip's own library in package pypi, which has a Python at hand.
func TestAdmits(t *testing.T) {
	cases := []struct {
		specifier string
		version   Version
		want      bool
	}{
		{">=3.11", Version{3, 11, 0}, true},
		{">3.11", Version{3, 11, 2}, true},
		{"<3.13", Version{3, 13, 5}, false},
		{"==3.11", Version{3, 11, 2}, false},
		{"==3.11.*", Version{3, 11, 2}, true},
		{"!=3.11.*", Version{3, 11, 2}, false},
		{"~=3.11", Version{3, 14, 0}, true},
		{"~=3.11", Version{4, 0, 0}, false},
		{"~=3.11.2", Version{3, 11, 1}, false},
		{" >= 3.11 , < 4 ", Version{3, 13, 5}, true},
	}
	for _, c := range cases {
		specifier, err := Parse(c.specifier)
		if err != nil || specifier.Admits(c.version) != c.want {
			t.Errorf("%s of %v: got %v, %v", c.specifier, c.version, !c.want, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", ",", ">=3.11,", "3.11", "===3.11", ">=3.*", "~=3", "~=3.11.*", ">=3.11rc1", ">=3.11.0.0", ">=03.11", ">=v3", ">=3.11;", ">= 3.11\n",
		">=9999999999", "=>3.11", strings.Repeat(">=3,", 17) + ">=3", ">=" + strings.Repeat("1", 300),
	} {
		if _, err := Parse(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(">=3.11,<4")
	f.Add("~=3.11.2, !=3.12.*")
	f.Fuzz(func(t *testing.T, s string) {
		specifier, err := Parse(s)
		if err == nil && specifier.Admits(Version{3, 13, 5}) && !strings.ContainsAny(s, "<>=~!") {
			t.Errorf("%q admits a version and has no operator", s)
		}
	})
}
