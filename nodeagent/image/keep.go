package image

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Keep removes every image that none of the manifests with these digests names.
// Name the manifests of running VMs too: a VM opens its disks again when it
// changes phase.
func (s *Store) Keep(ctx context.Context, digests ...string) error {
	unlock, err := s.lock(ctx, func(string) {})
	if err != nil {
		return err
	}
	defer unlock()
	manifests, blobs := map[string]bool{}, map[string]bool{}
	for _, digest := range digests {
		m, err := s.Load(digest)
		if err != nil {
			return fmt.Errorf("keep %s: %w", digest, err)
		}
		manifests[strings.TrimPrefix(m.Digest, digestPrefix)+".json"] = true
		for _, file := range m.files() {
			blobs[file.SHA256] = true
		}
	}
	if err := s.retain(manifestsDir, manifests); err != nil {
		return err
	}
	// Records of removed blobs stay: Bake sees that the blob is gone.
	return s.retain(blobsDir, blobs)
}

// retain removes all files of a folder but those named.
func (s *Store) retain(folder string, names map[string]bool) error {
	entries, err := os.ReadDir(s.path(folder))
	if err != nil {
		return fmt.Errorf("list the image store: %w", err)
	}
	for _, entry := range entries {
		if names[entry.Name()] {
			continue
		}
		if err := os.Remove(s.path(folder, entry.Name())); err != nil {
			return fmt.Errorf("remove an unused image: %w", err)
		}
	}
	return nil
}
