package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// input is everything that the bytes of a baked file depend on.
type input struct {
	Recipe string `json:"recipe"`
	Kind   string `json:"kind"`
	Source string `json:"source"`
	// Tool is the digest of the program that packs.
	Tool string `json:"tool,omitempty"`
}

// inputOf takes the digest out of an image reference: a mirror of the same image
// under another name is the same input.
func inputOf(kind, reference string) (input, error) {
	_, digest, ok := strings.Cut(reference, "@")
	if !ok {
		return input{}, refuse(v1alpha1.DetailProfileImageMissing, nil,
			"image %q is not pinned by digest: name it registry/repository@sha256:…", reference)
	}
	return input{Recipe: recipe, Kind: kind, Source: digest}, nil
}

func (i input) key() string {
	encoded, err := json.Marshal(i)
	if err != nil {
		panic(err) // strings only
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// toolDigest tells builds of a tool apart; their output may differ.
func toolDigest(name string) (string, error) {
	path, err := lookTool(name)
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// make returns the files of an input: those the store has, or those that build
// leaves below a fresh staging folder. The lock is held.
func (s *Store) make(in input, progress func(string), build func(stage string) (map[string]string, error)) (map[string]File, error) {
	record := s.path(recordsDir, in.key()+".json")
	if files, ok := s.recorded(record); ok {
		progress("already in the store")
		return files, nil
	}
	stage, err := os.MkdirTemp(s.path(stagingDir), in.Kind+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	paths, err := build(stage)
	if err != nil {
		return nil, err
	}
	files := map[string]File{}
	for name, path := range paths {
		if files[name], err = s.commit(path, in.Kind == "disk"); err != nil {
			return nil, fmt.Errorf("store the %s: %w", name, err)
		}
	}
	encoded, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	return files, s.replace(record, encoded, 0o600)
}

// recorded returns an input's files if the store has all of them unharmed, as far
// as can be told without reading them: Verify reads.
func (s *Store) recorded(record string) (map[string]File, bool) {
	encoded, err := readOwn(record)
	if err != nil {
		return nil, false
	}
	var files map[string]File
	if err := json.Unmarshal(encoded, &files); err != nil || len(files) == 0 {
		return nil, false
	}
	for name, file := range files {
		if !isDigest(file.SHA256) {
			return nil, false
		}
		file.Path = s.path(blobsDir, file.SHA256)
		if s.checked.known(file) == knownBad || inspect(file) != nil {
			return nil, false
		}
		files[name] = file
	}
	return files, true
}

func isDigest(s string) bool {
	decoded, err := hex.DecodeString(s)
	return err == nil && len(decoded) == sha256.Size && strings.ToLower(s) == s
}
