package cacheaudit

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Port is where the audit container beside a mirror answers.
const Port = 4874

// Bounds of a list.
const (
	// MaxArtifacts is far above the packages that a lockfile may have.
	MaxArtifacts = 20_000
	// maxPath bounds the path of one file, in bytes, quoting included.
	maxPath = 1024
)

// List is what GET /artifacts answers.
type List struct {
	// Version of this form, 1.
	Version int `json:"version"`
	// Artifacts in the order of their paths.
	Artifacts []Artifact `json:"artifacts"`
	// Unfinished counts the files that are still being written. None of them can be
	// served yet, but one may be of a package that a client already has.
	Unfinished int `json:"unfinished,omitempty"`
	// Problem says why the list is not whole; empty if it is.
	Problem string `json:"problem,omitempty"`
}

// Artifact is one package file in a mirror's cache.
type Artifact struct {
	// Path below the storage folder, with slashes; quoted if it has bytes that no
	// artifact's path has.
	Path string `json:"path"`
	// Size in bytes.
	Size int64 `json:"size"`
	// SHA256 and SHA512 of the bytes, in lower-case hexadecimal.
	SHA256 string `json:"sha256"`
	SHA512 string `json:"sha512"`
}

// Make lists every file below storage that is not one of the mirror's own records.
// What is neither a file nor a folder is listed without digests, so that it is
// rejected. It stops at the first thing that keeps the list from being whole.
func Make(ctx context.Context, storage fs.FS) List {
	list := List{Version: 1, Artifacts: []Artifact{}}
	err := fs.WalkDir(storage, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("the time for the audit ran out: %w", ctx.Err())
		case entry.IsDir() || isRecord(entry):
			return nil
		case isUnfinished(entry):
			list.Unfinished++
			return nil
		case len(list.Artifacts) == MaxArtifacts:
			return fmt.Errorf("more than %d files are cached", MaxArtifacts)
		}
		artifact := Artifact{Path: shown(name)}
		if entry.Type().IsRegular() {
			if err := artifact.hash(storage, name); err != nil {
				return err
			}
		}
		list.Artifacts = append(list.Artifacts, artifact)
		return nil
	})
	if err != nil {
		list.Problem = err.Error()
	}
	slices.SortFunc(list.Artifacts, func(a, b Artifact) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func (a *Artifact) hash(storage fs.FS, name string) error {
	file, err := storage.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	short, long := sha256.New(), sha512.New()
	if a.Size, err = io.Copy(io.MultiWriter(short, long), file); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	a.SHA256, a.SHA512 = hex.EncodeToString(short.Sum(nil)), hex.EncodeToString(long.Sum(nil))
	return nil
}

// isRecord is true for Verdaccio's own files, none of which is ever installed: package
// documents, half-written ones too, and databases.
func isRecord(entry fs.DirEntry) bool {
	name := entry.Name()
	return entry.Type().IsRegular() && (name == "package.json" || strings.HasPrefix(name, "package.json.tmp-") ||
		name == ".verdaccio-db.json" || name == ".sinopia-db.json")
}

// isUnfinished is true for what Verdaccio and proxpi rename once it is whole.
func isUnfinished(entry fs.DirEntry) bool {
	return entry.Type().IsRegular() && (strings.Contains(entry.Name(), ".tmp-") || strings.HasSuffix(entry.Name(), ".proxpi-partial"))
}

// shown is a path as it is listed: plain, or quoted, which no lockfile admits.
func shown(name string) string {
	if plain(name) {
		return name
	}
	quoted := strconv.QuoteToASCII(name)
	return quoted[:min(len(quoted), maxPath)]
}

// plain is true for what the path of an artifact can be.
func plain(name string) bool {
	if name == "" || len(name) > maxPath || path.Clean(name) != name || name[0] == '/' || strings.HasPrefix(name, "..") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '\\' || c == '"' {
			return false
		}
	}
	return true
}
