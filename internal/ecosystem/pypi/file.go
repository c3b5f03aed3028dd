package pypi

import (
	"regexp"
	"strings"
)

// File is what the name of a wheel or source distribution says.
type File struct {
	// Name is the project's, normalised.
	Name string
	// Version is canonical.
	Version string
	// Wheel is true for a wheel.
	Wheel bool
	// Tags are those that a wheel is for.
	Tags Tags
}

// Tags are the three compressed tag sets of a wheel's name, each 1 to maxTags long.
type Tags struct {
	// Python is for interpreters, like py3 and cp313.
	Python []string
	// ABI is for binary interfaces, like none, abi3 and cp313.
	ABI []string
	// Platform is for systems, like any and manylinux_2_17_x86_64.
	Platform []string
}

var (
	tagSet = regexp.MustCompile(`^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$`)
	build  = regexp.MustCompile(`^[0-9][A-Za-z0-9_.]*$`)
)

// maxTags bounds the tags of one set.
const maxTags = 64

// ParseFile reads a file name of the index. ok is false for any that is neither a
// wheel nor a source distribution.
func ParseFile(s string) (file File, ok bool) {
	if stem, ok := strings.CutSuffix(s, ".whl"); ok {
		return parseWheel(stem)
	}
	for _, suffix := range []string{".tar.gz", ".zip"} {
		if stem, ok := strings.CutSuffix(s, suffix); ok {
			return parseSource(stem)
		}
	}
	return File{}, false
}

func parseWheel(stem string) (File, bool) {
	parts := strings.Split(stem, "-")
	if len(parts) == 6 {
		if !build.MatchString(parts[2]) {
			return File{}, false
		}
		parts = append(parts[:2], parts[3:]...)
	}
	if len(parts) != 5 {
		return File{}, false
	}
	version, ok := CanonicalVersion(parts[1])
	file := File{Name: NormalName(parts[0]), Version: version, Wheel: true}
	for i, set := range []*[]string{&file.Tags.Python, &file.Tags.ABI, &file.Tags.Platform} {
		if !tagSet.MatchString(parts[2+i]) || strings.Count(parts[2+i], ".") >= maxTags {
			return File{}, false
		}
		*set = strings.Split(parts[2+i], ".")
	}
	return file, ok && file.Name != ""
}

// parseSource splits at the last dash behind which a version stands: older names
// have dashes in the project's name, and no rule tells them apart.
func parseSource(stem string) (File, bool) {
	for at := strings.LastIndexByte(stem, '-'); at > 0; at = strings.LastIndexByte(stem[:at], '-') {
		version, ok := CanonicalVersion(stem[at+1:])
		if name := NormalName(stem[:at]); ok && name != "" {
			return File{Name: name, Version: version}, true
		}
	}
	return File{}, false
}
