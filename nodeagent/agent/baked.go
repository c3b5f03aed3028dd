package agent

import (
	"fmt"
	"sync"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
)

// BakedProfile is a profile whose images this node has, in the generation it has
// them for.
type BakedProfile struct {
	Generation  int64
	Spec        v1alpha1.ZTProfileSpec
	Manifest    *image.Manifest
	Accelerator v1alpha1.Accelerator
}

// Profiles are the profiles this node has baked, and the manifests that sessions
// still boot from. It is safe for concurrent use.
type Profiles struct {
	mu    sync.Mutex
	baked map[string]*BakedProfile
	used  map[string]int
}

// Use returns the profile of a run. Its images stay until release is called, even
// if the profile changes meanwhile. The error is an *engine.Failure.
func (p *Profiles) Use(name string) (baked *BakedProfile, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	baked = p.baked[name]
	if baked == nil {
		return nil, nil, &engine.Failure{
			Detail: v1alpha1.DetailProfileImageMissing, Subject: name,
			Err: fmt.Errorf("this node has not baked profile %s", name),
		}
	}
	if p.used == nil {
		p.used = map[string]int{}
	}
	digest := baked.Manifest.Digest
	p.used[digest]++
	return baked, sync.OnceFunc(func() { p.release(digest) }), nil
}

func (p *Profiles) release(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used[digest]--; p.used[digest] == 0 {
		delete(p.used, digest)
	}
}

// set replaces what is known of a profile; nil forgets it.
func (p *Profiles) set(name string, baked *BakedProfile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.baked == nil {
		p.baked = map[string]*BakedProfile{}
	}
	if baked == nil {
		delete(p.baked, name)
		return
	}
	p.baked[name] = baked
}

func (p *Profiles) current(name string, generation int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	baked := p.baked[name]
	return baked != nil && baked.Generation == generation
}

// manifests lists the digests of every manifest that a profile or session needs.
func (p *Profiles) manifests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var digests []string
	for _, baked := range p.baked {
		digests = append(digests, baked.Manifest.Digest)
	}
	for digest := range p.used {
		digests = append(digests, digest)
	}
	return digests
}
