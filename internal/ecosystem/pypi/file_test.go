package pypi

import "testing"

func TestFileNames(t *testing.T) {
	cases := []struct {
		file, name, version string
		wheel, ok           bool
	}{
		{"six-1.17.0-py2.py3-none-any.whl", "six", "1.17", true, true},
		{"Foo_Bar-1.0.post1-3build-py3-none-any.whl", "foo-bar", "1.post1", true, true},
		{"numpy-2.3.0-1-cp313-cp313-manylinux_2_28_x86_64.whl", "numpy", "2.3", true, true},
		{"python-dateutil-2.9.0.tar.gz", "python-dateutil", "2.9", false, true},
		{"zope.interface-7.0.zip", "zope-interface", "7", false, true},
		{"foo-1.0-1.tar.gz", "foo-1-0", "1", false, true},
		{"six-1.17.0-py3-none-any.egg", "", "", false, false},
		{"six.whl", "", "", false, false},
		{"six-latest-py3-none-any.whl", "", "", false, false},
		{"-1.0.tar.gz", "", "", false, false},
		{"", "", "", false, false},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			got, ok := ParseFile(c.file)
			if ok != c.ok || ok && (got.Name != c.name || got.Version != c.version || got.Wheel != c.wheel) {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

func TestNamesThatAreEqualBecomeEqual(t *testing.T) {
	for _, name := range []string{"zope.interface", "Zope_Interface", "ZOPE-interface", "zope-._interface"} {
		if got := NormalName(name); got != "zope-interface" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	for _, name := range []string{"", "-a", "a-", "a b", "é", "a/b", "a\n"} {
		if got := NormalName(name); got != "" {
			t.Errorf("%q: got %q", name, got)
		}
	}
}

func TestMarkersAreBounded(t *testing.T) {
	deep := ""
	for range 1000 {
		deep += "("
	}
	if _, err := ParseMarker(deep + "os_name == 'posix'"); err == nil {
		t.Error("a marker nested 1000 deep is accepted")
	}
}

func FuzzParseMarker(f *testing.F) {
	for _, marker := range markers() {
		f.Add(marker)
	}
	e, err := EnvironmentOf("3.13.5")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if marker, err := ParseMarker(text); err == nil {
			if again, err := ParseMarker(" (" + text + ") "); err == nil && again.Holds(e) != marker.Holds(e) {
				t.Errorf("%q changes its value in brackets", text)
			}
		}
	})
}

func FuzzParseFile(f *testing.F) {
	f.Add("six-1.17.0-py2.py3-none-any.whl")
	f.Add("python-dateutil-2.9.0.tar.gz")
	f.Fuzz(func(t *testing.T, text string) {
		file, ok := ParseFile(text)
		if !ok {
			return
		}
		if NormalName(file.Name) != file.Name {
			t.Errorf("%q: the name %q is not normal", text, file.Name)
		}
		if again, ok := CanonicalVersion(file.Version); !ok || again != file.Version {
			t.Errorf("%q: the version %q is not canonical", text, file.Version)
		}
	})
}
