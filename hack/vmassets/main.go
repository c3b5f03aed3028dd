// Command vmassets bakes what a VM boots from out of images built on this
// machine, through the node agent's own bake, and prints shell assignments of the
// paths. The VM tests and benchmarks boot exactly what a node would.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
)

// diskMiB is the run disk of the VM tests.
const diskMiB = 4096

func main() {
	images := flag.String("images", "", "folder of OCI layouts: guest and the runtime")
	store := flag.String("store", "", "folder of the image store")
	runtime := flag.String("runtime", "node-22", "worker runtime")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *images, *store, *runtime); err != nil {
		fmt.Fprintf(os.Stderr, "vmassets: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, images, dir, runtime string) error {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	guest, err := serve(ctx, host, filepath.Join(images, "guest"))
	if err != nil {
		return err
	}
	worker, err := serve(ctx, host, filepath.Join(images, "worker-"+runtime))
	if err != nil {
		return err
	}
	manifest, err := bake(ctx, dir, runtime, guest, worker)
	if err != nil {
		return err
	}
	fmt.Printf("export ZT_VM_KERNEL=%q ZT_VM_INITRD=%q ZT_VM_ROOT=%q\n",
		manifest.Kernel.Path, manifest.Initrd.Path, manifest.Runtimes[runtime].Path)
	return nil
}

func bake(ctx context.Context, dir, runtime, guest, worker string) (*image.Manifest, error) {
	store, err := image.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the image store: %w", err)
	}
	spec := v1alpha1.ZTProfileSpec{}
	spec.Guest.Image = guest
	spec.VM.DiskMiB = diskMiB
	spec.Runtimes = []v1alpha1.Runtime{{Name: runtime, PinnedImage: v1alpha1.PinnedImage{Image: worker}}}
	progress := func(line string) { fmt.Fprintln(os.Stderr, line) }
	manifest, err := store.Bake(ctx, spec, progress)
	if err != nil {
		return nil, fmt.Errorf("baking: %w", err)
	}
	if err := store.Keep(ctx, manifest.Digest); err != nil {
		return nil, fmt.Errorf("removing earlier bakes: %w", err)
	}
	return manifest, nil
}

// serve pushes the only image of an OCI layout and returns its reference by digest.
func serve(ctx context.Context, host, dir string) (string, error) {
	img, err := onlyImage(dir)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", dir, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return "", fmt.Errorf("reading the digest of %s: %w", dir, err)
	}
	reference, err := name.NewDigest(host + "/" + filepath.Base(dir) + "@" + digest.String())
	if err != nil {
		return "", err
	}
	if err := remote.Write(reference, img, remote.WithContext(ctx)); err != nil {
		return "", fmt.Errorf("serving %s: %w", dir, err)
	}
	return reference.String(), nil
}

func onlyImage(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("it holds %d images, not one", len(manifest.Manifests))
	}
	return index.Image(manifest.Manifests[0].Digest)
}
