package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// testRegistry is a registry in this process that counts the blobs it served and
// can corrupt them.
type testRegistry struct {
	t       *testing.T
	host    string
	blobs   atomic.Int64
	corrupt atomic.Bool
}

func newRegistry(t *testing.T) *testRegistry {
	t.Helper()
	r := &testRegistry{t: t}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") {
			r.blobs.Add(1)
			if r.corrupt.Load() {
				w = &corruptor{ResponseWriter: w}
			}
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// corruptor flips one bit of every write.
type corruptor struct{ http.ResponseWriter }

func (c *corruptor) Write(p []byte) (int, error) {
	flipped := bytes.Clone(p)
	if len(flipped) > 0 {
		flipped[len(flipped)/2] ^= 1
	}
	return c.ResponseWriter.Write(flipped)
}

// push uploads an image made of tar layers, bottom first, and returns its reference.
func (r *testRegistry) push(repository string, layers ...[]byte) string {
	r.t.Helper()
	img := empty.Image
	for _, content := range layers {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content)), nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			r.t.Fatal(err)
		}
	}
	tag, err := name.NewTag(fmt.Sprintf("%s/%s:latest", r.host, repository))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := remote.Write(tag, img); err != nil {
		r.t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%s/%s@%s", r.host, repository, digest)
}

// layer writes a tar archive.
func layer(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		if m.Typeflag == 0 {
			m.Typeflag = tar.TypeReg
		}
		if m.Mode == 0 {
			m.Mode = 0o644
		}
		if m.Typeflag == tar.TypeReg {
			m.Size = int64(len(m.content))
		}
		if err := w.WriteHeader(&m.Header); err != nil {
			t.Fatal(err)
		}
		if m.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(m.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type member struct {
	tar.Header
	content string
}

func file(name, content string) member {
	return member{Header: tar.Header{Name: name}, content: content}
}

func folder(name string) member {
	return member{Header: tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}}
}

func symlink(name, target string) member {
	return member{Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}}
}

func hardlink(name, target string) member {
	return member{Header: tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target}}
}

func special(name string, kind byte) member {
	return member{Header: tar.Header{Name: name, Typeflag: kind, Devmajor: 1, Devminor: 3}}
}

func withMode(m member, mode int64) member {
	m.Mode = mode
	return m
}

// profile pushes a guest image and one runtime of the given layers.
func (r *testRegistry) profile(layers ...[]byte) v1alpha1.ZTProfileSpec {
	r.t.Helper()
	guest := r.push("guest", layer(r.t, file(guestKernel, "kernel"), file(guestInitrd, "initrd")))
	return v1alpha1.ZTProfileSpec{
		Guest: v1alpha1.PinnedImage{Image: guest},
		Runtimes: []v1alpha1.Runtime{{
			Name: "node-22", PinnedImage: v1alpha1.PinnedImage{Image: r.push("node", layers...)},
		}},
		VM: v1alpha1.VMSpec{DiskMiB: 512},
	}
}

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "images"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
