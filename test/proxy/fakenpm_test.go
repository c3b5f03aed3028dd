//go:build proxy

package proxy

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/registries"
)

const (
	tarballSize = 6 << 20
	// hugeDocument is below what the policy lets through.
	hugeDocument = 128 << 20
)

// fakeNPM serves a package of any name with one tarball of zeros. The name says how the
// tarball, or the document, is answered.
type fakeNPM struct {
	// streaming receives when the first part of a tarball called drip is out.
	streaming chan struct{}
}

func fakeTarball(name string) string { return "/" + name + "/-/" + name + "-1.0.0.tgz" }

func (f *fakeNPM) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	name, rest, isFile := strings.Cut(strings.TrimPrefix(in.URL.Path, "/"), "/")
	if !isFile {
		f.document(out, name)
		return
	}
	if path.Base(rest) != name+"-1.0.0.tgz" {
		http.NotFound(out, in)
		return
	}
	f.tarball(out, in, name)
}

func (f *fakeNPM) document(out http.ResponseWriter, name string) {
	padding := 0
	switch name {
	case "broken":
		http.Error(out, "out of order", http.StatusBadGateway)
		return
	case "huge":
		padding = hugeDocument
	}
	sum := sha512.Sum512(make([]byte, tarballSize))
	out.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(out, `{"_id":%q,"name":%[1]q,"dist-tags":{"latest":"1.0.0"},"time":{"1.0.0":"2026-01-01T00:00:00.000Z"},`+
		`"versions":{"1.0.0":{"name":%[1]q,"version":"1.0.0","dist":{"tarball":"https://%s%s","integrity":"sha512-%s","shasum":"%040d"}}},"readme":"`,
		name, registries.NPMHost, fakeTarball(name), base64.StdEncoding.EncodeToString(sum[:]), 1)
	for block := strings.Repeat("x", 1<<16); padding > 0; padding -= len(block) {
		_, _ = io.WriteString(out, block)
	}
	_, _ = io.WriteString(out, `"}`)
}

func (f *fakeNPM) tarball(out http.ResponseWriter, in *http.Request, name string) {
	out.Header().Set("Content-Length", fmt.Sprint(tarballSize))
	switch name {
	case "drip":
		_, _ = io.CopyN(out, zeros{}, tarballSize/4)
		_ = http.NewResponseController(out).Flush()
		f.streaming <- struct{}{}
		<-in.Context().Done()
	case "short":
		_, _ = io.CopyN(out, zeros{}, tarballSize/2)
		panic(http.ErrAbortHandler)
	case "silent":
		<-in.Context().Done()
	case "stuck":
		_, _ = io.CopyN(out, zeros{}, tarballSize/2)
		_ = http.NewResponseController(out).Flush()
		<-in.Context().Done()
	default:
		_, _ = io.CopyN(out, zeros{}, tarballSize)
	}
}
