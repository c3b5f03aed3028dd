package erofstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Entry is what the kernel says of one name below a folder.
type Entry struct {
	// Path is relative to the folder; "." is the folder itself.
	Path     string
	Mode     fs.FileMode
	UID, GID uint32
	Links    uint64
	Modified time.Time
	// Content of a regular file, target of a symbolic link, else empty.
	Content string
}

// List returns the folder and everything below it, in the order of fs.WalkDir.
func List(t testing.TB, dir string) []Entry {
	t.Helper()
	var all []Entry
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		entry, err := entryAt(path)
		if err != nil {
			return err
		}
		entry.Path, err = filepath.Rel(dir, path)
		all = append(all, entry)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func entryAt(path string) (Entry, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Entry{}, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	entry := Entry{Mode: info.Mode(), UID: stat.Uid, GID: stat.Gid, Links: stat.Nlink, Modified: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		entry.Content = string(content)
		return entry, err
	case info.Mode()&fs.ModeSymlink != 0:
		entry.Content, err = os.Readlink(path)
	}
	return entry, err
}
