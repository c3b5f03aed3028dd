package pypi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/runtimes/pep440"
)

// Environment is what markers and wheel tags are judged for: CPython in the worker
// container, on Linux and x86_64.
type Environment struct {
	version pep440.Version
}

// glibcMinor returns the minor version of the C library 2.x in the worker image: that
// of the Debian release whose Python it is. A wheel for a newer one would not load.
func (e Environment) glibcMinor() int64 {
	if e.version[1] >= 13 {
		return 41 // Debian 13
	}
	return 36 // Debian 12
}

// EnvironmentOf returns the environment of an interpreter version X.Y.Z.
func EnvironmentOf(version string) (Environment, error) {
	var e Environment
	parts := strings.Split(version, ".")
	if len(parts) != len(e.version) {
		return e, errors.New("not a version X.Y.Z")
	}
	for i, part := range parts {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 || n > 1000 {
			return e, errors.New("not a version X.Y.Z")
		}
		e.version[i] = n
	}
	return e, nil
}

// text returns the value of a marker variable; ok is false for those that no image
// fixes, such as the kernel's release, and for those that are not known.
func (e Environment) text(variable string) (value string, ok bool) {
	value, ok = map[string]string{
		"os_name":                        "posix",
		"sys_platform":                   "linux",
		"platform_machine":               "x86_64",
		"platform_system":                "Linux",
		"platform_python_implementation": "CPython",
		"implementation_name":            "cpython",
		"extra":                          "",
	}[variable]
	return value, ok
}

// release returns the value of a marker variable that holds a version of the
// interpreter.
func (e Environment) release(variable string) (pep440.Version, bool) {
	switch variable {
	case "python_version":
		return pep440.Version{e.version[0], e.version[1], 0}, true
	case "python_full_version", "implementation_version":
		return e.version, true
	}
	return pep440.Version{}, false
}

// Supports reports whether the interpreter can install a wheel with the tags.
func (e Environment) Supports(tags Tags) bool {
	for _, python := range tags.Python {
		for _, abi := range tags.ABI {
			for _, platform := range tags.Platform {
				if e.supports(python, abi, platform) {
					return true
				}
			}
		}
	}
	return false
}

// supports follows the order of packaging.tags: what is built for this CPython, its
// stable ABI, and then whatever needs no ABI.
func (e Environment) supports(python, abi, platform string) bool {
	own := fmt.Sprintf("cp%d%d", e.version[0], e.version[1])
	native := e.native(platform)
	switch {
	case abi == own:
		return python == own && native
	case abi == "abi3":
		minor, ok := minorOf(python, fmt.Sprintf("cp%d", e.version[0]))
		return ok && minor >= 2 && minor <= e.version[1] && native
	case abi == "none" && python == own:
		return native || platform == "any"
	case abi == "none":
		generic := fmt.Sprintf("py%d", e.version[0])
		minor, ok := minorOf(python, generic)
		return (python == generic || ok && minor <= e.version[1]) && (native || platform == "any")
	}
	return false
}

func minorOf(tag, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(tag, prefix)
	if !ok || digits == "" || len(digits) > 3 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	minor, err := strconv.ParseUint(digits, 10, 16)
	return int64(minor), err == nil
}

// native reports whether the worker's Linux is of the platform.
func (e Environment) native(platform string) bool {
	switch platform {
	case "linux_x86_64", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64":
		return true
	}
	glibc, ok := strings.CutSuffix(platform, "_x86_64")
	if !ok {
		return false
	}
	minor, ok := minorOf(glibc, "manylinux_2_")
	return ok && minor >= 5 && minor <= e.glibcMinor()
}
