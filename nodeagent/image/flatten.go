package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// flat is a flattened image: its tree, and the folder of its files' bytes.
type flat struct {
	tree  *layerTree
	spool string
}

// flatten pulls an image and unpacks it below stage, an empty private folder.
func (s *Store) flatten(ctx context.Context, reference, stage string, progress func(string)) (*flat, error) {
	img, err := resolve(ctx, reference)
	if err != nil {
		return nil, err
	}
	layers, err := layersOf(reference, img, s.limits)
	if err != nil {
		return nil, err
	}
	spool := filepath.Join(stage, "spool")
	if err := os.Mkdir(spool, private); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(spool)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	u := newUnpacker(root, s.limits)
	for i, layer := range layers {
		size, _ := layer.Size() // layersOf has seen it
		progress(fmt.Sprintf("pulling layer %d of %d, %.1f MiB", i+1, len(layers), float64(size)/(1<<20)))
		if err := s.layer(ctx, reference, layer, stage, u); err != nil {
			return nil, err
		}
	}
	return &flat{u.tree, spool}, nil
}

func (s *Store) layer(ctx context.Context, reference string, layer v1.Layer, stage string, u *unpacker) error {
	file, err := os.CreateTemp(stage, "layer-")
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	size, err := download(ctx, reference, layer, file)
	if err != nil {
		return err
	}
	stream, err := decompress(file)
	if err != nil {
		return unpackable(reference, err)
	}
	defer stream.Close()
	return unpackable(reference, u.layer(&cancelReader{ctx, stream}, size))
}

// unpackable blames the image for an error, unless it is the node's.
func unpackable(reference string, err error) error {
	var node *nodeFault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &node), errors.Is(err, unix.ENOSPC), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		return refuse(v1alpha1.DetailProfileImageUnpackable, err, "image %s cannot be unpacked", reference)
	}
}

// cancelReader ends a stream when its context does.
type cancelReader struct {
	ctx context.Context
	r   interface{ Read([]byte) (int, error) }
}

func (c *cancelReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
