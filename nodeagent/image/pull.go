package image

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/klauspost/compress/zstd"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// platform of the images: QEMU and guest are x86-64.
var platform = v1.Platform{OS: "linux", Architecture: "amd64"}

// resolve finds a digest-pinned image. The registry client checks the manifest
// against the digest, and each layer against the manifest.
func resolve(ctx context.Context, reference string) (v1.Image, error) {
	digest, err := name.NewDigest(reference)
	if err != nil {
		return nil, refuse(v1alpha1.DetailProfileImageMissing, err,
			"image %q is not pinned by digest: name it registry/repository@sha256:…", reference)
	}
	img, err := remote.Image(digest, remote.WithContext(ctx),
		remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithPlatform(platform))
	if err != nil {
		return nil, pullError(ctx, reference, err)
	}
	return img, nil
}

func pullError(ctx context.Context, reference string, err error) error {
	var answered *transport.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &answered) && answered.StatusCode == http.StatusNotFound:
		return refuse(v1alpha1.DetailProfileImageMissing, err,
			"the registry does not have image %s: push it, or correct the digest in the profile", reference)
	default:
		return refuse(v1alpha1.DetailProfileImageMissing, err,
			"image %s could not be pulled: check that this node reaches the registry and may pull", reference)
	}
}

// layers returns an image's layers if they are within bounds.
func layersOf(reference string, img v1.Image, l limits) ([]v1.Layer, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, refuse(v1alpha1.DetailProfileImageUnpackable, err, "image %s has no readable layer list", reference)
	}
	var total int64
	for _, layer := range layers {
		size, err := layer.Size()
		if err != nil || size < 0 {
			return nil, refuse(v1alpha1.DetailProfileImageUnpackable, err, "image %s has a layer without a size", reference)
		}
		total += size
	}
	if len(layers) > l.layers || total > l.compressed {
		return nil, refuse(v1alpha1.DetailProfileImageUnpackable, nil,
			"image %s has %d layers of %d bytes; at most %d of %d are taken", reference, len(layers), total, l.layers, l.compressed)
	}
	return layers, nil
}

// download writes a layer to a file and leaves it at its start. Nothing of a layer
// is parsed before all of it matched its digest.
func download(ctx context.Context, reference string, layer v1.Layer, into *os.File) (int64, error) {
	stream, err := layer.Compressed()
	if err != nil {
		return 0, pullError(ctx, reference, err)
	}
	defer stream.Close()
	size, err := layer.Size()
	if err != nil {
		return 0, pullError(ctx, reference, err)
	}
	// One byte more than announced: the client's check comes with the end.
	n, err := io.Copy(into, io.LimitReader(stream, size+1))
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil && n >= size, err == nil && n != size:
		return 0, refuse(v1alpha1.DetailProfileImageMismatch, err,
			"image %s: a layer is not what its digest says; the registry or the path to it is not to be trusted", reference)
	case err != nil:
		return 0, pullError(ctx, reference, err)
	}
	_, err = into.Seek(0, io.SeekStart)
	return size, err
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// decompress returns a layer's tar stream.
func decompress(file io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(file, 1<<18)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		return gzip.NewReader(buffered)
	case bytes.HasPrefix(magic, zstdMagic):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return decoder.IOReadCloser(), nil
	default:
		return io.NopCloser(buffered), nil
	}
}
