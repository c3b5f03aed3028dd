package pypi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
	"github.com/ai-dossier/zt-operator/internal/runtimes/pep440"
)

type question struct {
	Markers      []string            `json:"markers"`
	Environments []map[string]string `json:"environments"`
	Versions     []string            `json:"versions"`
	Tags         []string            `json:"tags"`
	Specifiers   []string            `json:"specifiers"`
	Releases     []string            `json:"releases"`
}

type answer struct {
	Markers    [][]*bool
	Versions   []*string
	Tags       [][]bool
	Specifiers [][]*bool
}

var interpreters = []string{"3.11.2", "3.12.0", "3.13.5"}

// TestJudgesAsPackagingDoes compares with the library that pip itself decides with.
// What is refused here may be anything there; what is accepted has to be the same.
func TestJudgesAsPackagingDoes(t *testing.T) {
	q := question{Markers: markers(), Versions: versions(), Tags: wheelTags(), Specifiers: specifiers(), Releases: interpreters}
	for _, interpreter := range interpreters {
		short := interpreter[:strings.LastIndex(interpreter, ".")]
		q.Environments = append(q.Environments, map[string]string{
			"os_name": "posix", "sys_platform": "linux", "platform_machine": "x86_64", "platform_system": "Linux",
			"platform_python_implementation": "CPython", "implementation_name": "cpython", "extra": "",
			"python_version": short, "python_full_version": interpreter, "implementation_version": interpreter,
		})
	}
	var a answer
	ecotest.Python(t, "testdata/judge.py", q, &a)
	accepted := 0
	for i, text := range q.Markers {
		marker, err := ParseMarker(text)
		if err != nil {
			continue
		}
		accepted++
		for j, interpreter := range interpreters {
			want := a.Markers[i][j]
			if got := marker.Holds(environment(t, interpreter)); want == nil || got != *want {
				t.Errorf("marker %s on %s: got %v, packaging says %v", text, interpreter, got, show(want))
			}
		}
	}
	if accepted < len(q.Markers)/3 {
		t.Errorf("only %d of %d markers are accepted", accepted, len(q.Markers))
	}
	for i, text := range q.Versions {
		want := a.Versions[i]
		if got, ok := CanonicalVersion(text); ok != (want != nil) || ok && got != *want {
			t.Errorf("version %q: got %q, %v; packaging says %v", text, got, ok, want)
		}
	}
	for i, text := range q.Tags {
		file, ok := ParseFile("x-1-" + text + ".whl")
		for j, interpreter := range interpreters {
			if got := ok && environment(t, interpreter).Supports(file.Tags); got != a.Tags[i][j] {
				t.Errorf("tags %s on %s: got %v", text, interpreter, got)
			}
		}
	}
	for i, text := range q.Specifiers {
		specifier, err := pep440.Parse(text)
		if err != nil {
			continue
		}
		for j, release := range q.Releases {
			var v pep440.Version
			fmt.Sscanf(release, "%d.%d.%d", &v[0], &v[1], &v[2])
			if want := a.Specifiers[i][j]; want == nil || specifier.Admits(v) != *want {
				t.Errorf("%s on %s: got %v, packaging says %v", text, release, specifier.Admits(v), show(want))
			}
		}
	}
}

func show(b *bool) string {
	if b == nil {
		return "an error"
	}
	return fmt.Sprint(*b)
}

func environment(t *testing.T, interpreter string) Environment {
	t.Helper()
	e, err := EnvironmentOf(interpreter)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// markers are all operators with all kinds of operands, and how they combine.
func markers() []string {
	var all []string
	for _, operator := range []string{"==", "!=", "<", "<=", ">", ">=", "~=", "in", "not in"} {
		for _, literal := range []string{"3.11", "3.12", "3.13", "3.9", "3", "3.13.5", "3.12.0", "3.*", "3.12.*", "3.11 3.12", "3.8rc1", "x", ""} {
			for _, variable := range []string{"python_version", "python_full_version", "implementation_version"} {
				all = append(all, variable+" "+operator+" '"+literal+"'", `"`+literal+`" `+operator+" "+variable)
			}
		}
		for _, literal := range []string{"linux", "win32", "linux darwin", "lin", ""} {
			all = append(all, "sys_platform "+operator+" '"+literal+"'", "'"+literal+"' "+operator+" sys_platform")
		}
	}
	return append(all,
		"os_name=='posix'", "platform_machine == 'x86_64'", "platform_machine == 'aarch64'", "platform_system != 'Windows'",
		"platform_python_implementation == 'CPython'", "implementation_name == 'pypy'", "extra == 'test'", "extra == ''",
		"sys_platform == 'linux' and python_version >= '3.12'", "sys_platform == 'win32' or python_version < '3.12'",
		"sys_platform == 'win32' and os_name == 'nt' or python_version >= '3.13'",
		"sys_platform == 'win32' and (os_name == 'nt' or python_version >= '3.13')",
		"(python_version < '3.12' or (python_full_version >= '3.13.1' and os_name == 'posix'))",
		"((((os_name == 'posix'))))", "(os_name == 'posix'", "os_name == 'posix')", "os_name", "'a' == 'a'", "os_name == sys_platform",
		"os_name == 'posix' and", "and os_name == 'posix'", "not os_name == 'posix'", "os_name === 'posix'", "os.name == 'posix'",
		"platform_release >= '5'", "platform_version == 'x'", "python_version >= '3.8' and python_version < '4'", "", " ",
		"python_version>='3.8'and os_name=='posix'", "python_version not  in '3.11'", "python_version notin '3.11'",
	)
}

func versions() []string {
	return []string{
		"1", "1.0", "1.0.0", "1.10", "01.02", "0", "0.0", "1a1", "1.0.a.1", "1-alpha-1", "1_b2", "1.0c1", "1rc", "1pre1", "1.preview3",
		"1.post1", "1-1", "1.0-r4", "1rev", "1.post", "1.dev0", "1dev", "1.0_dev_3", "1a1.post2.dev3", "1!2.0", "0!2.0", "v1.0", "V2",
		"1+local", "1+Ubuntu-1_2.03", "1+", "1..2", "", "x", "1.x", "1.*", "1a1a1", "1.0.0.0.1", "2026.6.1", "1.0+é", "1-",
	}
}

func wheelTags() []string {
	return []string{
		"py3-none-any", "py2.py3-none-any", "py2-none-any", "py313-none-any", "py312-none-any", "py311-none-any", "py310-none-any", "py314-none-any",
		"cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", "cp313-cp313-manylinux_2_28_x86_64", "cp313-cp313t-manylinux_2_28_x86_64",
		"cp312-cp312-manylinux_2_40_x86_64", "cp313-cp313-manylinux_2_41_x86_64", "cp313-cp313-manylinux_2_42_x86_64", "cp311-cp311-manylinux_2_36_x86_64",
		"cp311-cp311-manylinux_2_37_x86_64", "cp313-cp313-musllinux_1_2_x86_64", "cp313-cp313-manylinux_2_17_aarch64", "cp313-cp313-win_amd64",
		"cp313-cp313-macosx_11_0_arm64", "cp38-abi3-manylinux_2_17_x86_64", "cp313-abi3-linux_x86_64", "cp314-abi3-manylinux_2_17_x86_64", "cp3-abi3-linux_x86_64",
		"cp39-none-any", "cp313-none-any", "cp313-none-manylinux_2_17_x86_64", "py3-none-manylinux_2_17_x86_64", "py3-none-win_amd64", "pp310-pypy310_pp73-manylinux_2_17_x86_64",
		"py3-cp313-manylinux_2_17_x86_64", "cp313.cp312-cp312.cp313-linux_x86_64", "cp313-cp313-linux_x86_64", "cp313-cp313-any", "cp311-abi3-any", "cp313-cp313-manylinux1_x86_64",
		"cp313-cp313-manylinux2010_x86_64", "cp313-cp313-manylinux_2_4_x86_64", "cp313-cp313-manylinux_1_17_x86_64", "cp313-cp313-linux_i686", "py3-abi3-linux_x86_64", "py30-none-any", "py4-none-any",
	}
}

func specifiers() []string {
	var all []string
	for _, operator := range []string{"==", "!=", "<", "<=", ">", ">=", "~=", "==="} {
		for _, version := range []string{"3", "3.11", "3.11.2", "3.12", "3.13.0", "3.13.5", "3.*", "3.12.*", "3.13.5.*", "4", "3.11.2.0", "3.11rc1", "03.11", "v3"} {
			all = append(all, operator+version, operator+" "+version)
		}
	}
	return append(all, ">=3.11,<4", ">=3.11, !=3.12.*, <4.0", ">3.11,<3.13", "", ",", ">=3.11,", ">=3.11 <4", "3.11", "~=3.11,!=3.12.0")
}
