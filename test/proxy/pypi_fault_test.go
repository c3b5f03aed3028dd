//go:build proxy

package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// fakePyPI serves a project of any name with one wheel. The name says how the wheel
// is answered.
type fakePyPI struct {
	mu   sync.Mutex
	seen map[string]int // requests by host and path
	// streaming receives when the first part of a wheel called drip is out.
	streaming chan struct{}
}

const wheelSize = 300_000

func (f *fakePyPI) count(request string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[request]
}

func fakeWheel(project string) string {
	return fmt.Sprintf("/packages/00/11/%060x/%s-1.0-py3-none-any.whl", 1, project)
}

func (f *fakePyPI) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	f.mu.Lock()
	f.seen[in.Host+in.URL.Path]++
	nth := f.seen[in.Host+in.URL.Path]
	f.mu.Unlock()
	if in.Host == registries.PyPIHost {
		f.page(out, in, nth)
		return
	}
	project, _, _ := strings.Cut(filepath.Base(in.URL.Path), "-")
	switch {
	case project == "gone":
		http.NotFound(out, in)
	case project == "moved":
		http.Redirect(out, in, "https://elsewhere.test/x", http.StatusFound)
	case project == "flaky" && nth == 1:
		http.Error(out, "try again", http.StatusServiceUnavailable)
	case project == "cut" && nth == 1 || project == "short":
		out.Header().Set("Content-Length", fmt.Sprint(wheelSize))
		_, _ = io.CopyN(out, zeros{}, wheelSize/2)
		panic(http.ErrAbortHandler)
	case project == "drip":
		out.Header().Set("Content-Length", fmt.Sprint(wheelSize))
		_, _ = io.CopyN(out, zeros{}, wheelSize/2)
		_ = http.NewResponseController(out).Flush()
		f.streaming <- struct{}{}
		<-in.Context().Done()
	case project == "large":
		// Without a length, Squid cuts where its buffers end.
		_, _ = io.CopyN(out, zeros{}, (policy.MaxResponseMiB+32)<<20)
	default:
		if project == "slow" {
			time.Sleep(2 * time.Second)
		}
		out.Header().Set("Content-Length", fmt.Sprint(wheelSize))
		_, _ = io.CopyN(out, zeros{}, wheelSize)
	}
}

// page answers as PyPI does: JSON if asked for it, a redirect to the canonical URL
// from any other.
func (f *fakePyPI) page(out http.ResponseWriter, in *http.Request, nth int) {
	project := strings.TrimSuffix(strings.TrimPrefix(in.URL.Path, "/simple/"), "/")
	canonical := "/simple/" + strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(project)) + "/"
	switch {
	case in.URL.Path != canonical:
		http.Redirect(out, in, canonical, http.StatusMovedPermanently)
	case project == "unknown":
		http.NotFound(out, in)
	case project == "shaky" && nth == 1:
		panic(http.ErrAbortHandler)
	case project == "broken":
		http.Error(out, "out of order", http.StatusBadGateway)
	case !strings.Contains(in.Header.Get("Accept"), "application/vnd.pypi.simple.v1+json"):
		http.Error(out, "not asked for JSON", http.StatusNotAcceptable)
	default:
		out.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		fmt.Fprintf(out, `{"meta":{"api-version":"1.3"},"name":%q,"files":[{"filename":"%s-1.0-py3-none-any.whl","url":"https://%s%s","hashes":{}}]}`,
			project, project, registries.FilesHost, fakeWheel(project))
	}
}

func TestThePyPIMirrorNamesFailuresAndNeverSendsClientsUpstream(t *testing.T) {
	top := newTopology(t)
	top.fakeWorld(t)
	upstream := []netip.Addr{netip.MustParseAddr(upstreamIP)}
	w := newWorld(t, top, map[string][]netip.Addr{registries.PyPIHost: upstream, registries.FilesHost: upstream})
	pypi := &fakePyPI{seen: map[string]int{}}
	w.registry = pypi.ServeHTTP
	s := startSquid(t, top, squidOptions{
		spec: policy.Default(), ecosystem: v1alpha1.EcosystemPip, upstreamCA: w.caPEM, nameservers: []string{upstreamIP},
	})
	m := startPyPIMirror(t, top, s, folder(t, 0o777))
	file := func(project string) string { return "/index/" + project + "/" + project + "-1.0-py3-none-any.whl" }

	for _, tc := range []struct {
		name, method, path string
		// want are the statuses of one request after the other.
		want []int
	}{
		{"a page", "GET", "/index/plain/", []int{200, 200}},
		{"a page by a name that is not normalised", "GET", "/index/Not_Plain.Name/", []int{200}},
		{"a file", "GET", file("plain"), []int{200, 200}},
		{"a file that is slower than proxpi's own patience", "GET", file("slow"), []int{200}},
		{"a project that does not exist", "GET", "/index/unknown/", []int{404}},
		{"a page whose connection breaks once", "GET", "/index/shaky/", []int{200}},
		{"a project whose page the registry fails to serve", "GET", "/index/broken/", []int{502}},
		{"a file that no page lists", "GET", "/index/plain/other-1.0-py3-none-any.whl", []int{404}},
		{"a file that is gone", "GET", file("gone"), []int{404, 404}},
		{"a file that has moved, which Squid denies", "GET", file("moved"), []int{502}},
		{"a file over the limit, which Squid cuts", "GET", file("large"), []int{502}},
		{"a file that the registry fails to serve once", "GET", file("flaky"), []int{200}},
		{"a file that ends early once", "GET", file("cut"), []int{200}},
		{"a file that always ends early", "GET", file("short"), []int{502, 502}},
		{"the index of all projects", "GET", "/index/", []int{404}},
		{"the page for people", "GET", "/", []int{404}},
		{"a page without its slash", "GET", "/index/plain", []int{404}},
		{"dropping a cached page", "DELETE", "/cache/plain", []int{404}},
		{"an upload", "POST", "/index/plain/", []int{404}},
		{"a path out of the index", "GET", "/index/../../etc/passwd", []int{404}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, want := range tc.want {
				got := m.ask(top, tc.method, tc.path)
				if got.status != want {
					t.Errorf("request %d is answered with %d, want %d: %.300s", i+1, got.status, want, got.text)
				}
				if location := strings.ToLower(got.text); strings.Contains(location[:min(len(location), 1000)], "\r\nlocation:") {
					t.Errorf("request %d sends the client elsewhere: %.300s", i+1, got.text)
				}
				if strings.HasSuffix(tc.path, ".whl") && got.status == 200 && len(got.text) < wheelSize {
					t.Errorf("request %d got %d bytes of a file of %d", i+1, len(got.text), wheelSize)
				}
			}
		})
	}
	t.Run("many clients cause one download, and none gets an empty file", func(t *testing.T) {
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				if got := m.get(top, file("popular")); got.status != 200 || len(got.text) < wheelSize {
					t.Errorf("status %d with %d bytes", got.status, len(got.text))
				}
			})
		}
		group.Wait()
		if n := pypi.count(registries.FilesHost + fakeWheel("popular")); n != 1 {
			t.Errorf("%d downloads", n)
		}
	})
	t.Run("what Squid denies is asked for once, what the registry fails to serve again", func(t *testing.T) {
		for request, want := range map[string]int{
			registries.FilesHost + fakeWheel("moved"): 1, registries.PyPIHost + "/simple/broken/": 4, registries.PyPIHost + "/simple/unknown/": 1,
		} {
			if n := pypi.count(request); n != want {
				t.Errorf("%s was asked for %d times, want %d", request, n, want)
			}
		}
	})
	t.Run("it never asked for the index of all projects or for a page by another name", func(t *testing.T) {
		for _, path := range []string{"/simple/", "/simple", "/simple/plain", "/simple/Not_Plain.Name/"} {
			if n := pypi.count(registries.PyPIHost + path); n != 0 {
				t.Errorf("%s was asked for %d times", path, n)
			}
		}
	})
	t.Run("its cache holds whole files only, where an audit finds them", func(t *testing.T) {
		var names []string
		err := filepath.WalkDir(m.storage, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".proxpi-partial") {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Size() != wheelSize {
				t.Errorf("%s has %d bytes", path, info.Size())
			}
			names = append(names, strings.TrimPrefix(path, m.storage+"/files-pythonhosted-org"))
			return err
		})
		want := []string{"cut", "flaky", "plain", "popular", "slow"}
		for i := range want {
			want[i] = fakeWheel(want[i])
		}
		if err != nil || strings.Join(names, " ") != strings.Join(want, " ") {
			t.Errorf("%v, %v; want %v", names, err, want)
		}
	})
}
