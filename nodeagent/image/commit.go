package image

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// commit moves a finished file into the store under its digest.
func (s *Store) commit(path string, sparse bool) (File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	made := File{Size: info.Size(), Sparse: sparse}
	if made.SHA256, err = digestOf(file, sparse); err != nil {
		return File{}, err
	}
	made.Path = s.path(blobsDir, made.SHA256)
	// Durable before it is named: a power cut must not leave a digest over zeros.
	if err := file.Sync(); err != nil {
		return File{}, err
	}
	if err := file.Chmod(readOnly); err != nil {
		return File{}, err
	}
	if err := os.Rename(path, made.Path); err != nil {
		return File{}, err
	}
	s.checked.good(made, file)
	return made, syncFolder(s.path(blobsDir))
}

// replace writes a small file of the store atomically.
func (s *Store) replace(path string, content []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(s.path(stagingDir), "file-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone already if all went well
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// maxSmallFile bounds records and manifests.
const maxSmallFile = 1 << 20

// readOwn reads a small file of the store, following no link.
func readOwn(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := trusted(file); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, maxSmallFile))
}
