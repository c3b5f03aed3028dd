package image

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// sparseBlock is the unit of a sparse digest, in bytes.
const sparseBlock = 4096

// digestOf returns the SHA-256 of a file, or its sparse digest.
func digestOf(file *os.File, sparse bool) (string, error) {
	if sparse {
		return sparseDigest(file)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, struct{ io.Reader }{file}, make([]byte, 1<<20)); err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sparseDigest is a digest of all of a file's content that need not read its
// holes: SHA-256 over the size and, for each block of 4096 bytes with any byte set,
// its offset and content; numbers are 64 bits, big endian. Whether zeros are stored
// or are a hole makes no difference. Hashing 4 GiB of zeros takes seconds; this takes
// milliseconds.
func sparseDigest(file *os.File) (string, error) {
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	size := info.Size()
	hash := sha256.New()
	number := func(n int64) { hash.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	number(size)
	block, zero := make([]byte, sparseBlock), make([]byte, sparseBlock)
	for offset := int64(0); offset < size; {
		start, err := unix.Seek(int(file.Fd()), offset, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // nothing but a hole up to the end
		}
		if err != nil {
			return "", fmt.Errorf("find data: %w", err)
		}
		offset = start - start%sparseBlock
		end, err := unix.Seek(int(file.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return "", fmt.Errorf("find a hole: %w", err)
		}
		for ; offset < end; offset += sparseBlock {
			n, err := file.ReadAt(block, offset)
			if err != nil && !errors.Is(err, io.EOF) {
				return "", fmt.Errorf("hash: %w", err)
			}
			if string(block[:n]) != string(zero[:n]) {
				number(offset)
				hash.Write(block[:n])
			}
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// punch frees the blocks of a file that hold nothing but zeros, as far as the file
// system reports them as holes. It is a saving only: errors do not matter.
func punch(file *os.File, size int64) {
	for offset := int64(0); offset < size; {
		hole, err := unix.Seek(int(file.Fd()), offset, unix.SEEK_HOLE)
		if err != nil {
			return
		}
		data, err := unix.Seek(int(file.Fd()), hole, unix.SEEK_DATA)
		if err != nil {
			data = size
		}
		if data > hole {
			_ = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, hole, data-hole)
		}
		offset = data
	}
}
