package boot_test

import (
	"bytes"
	"testing"

	"github.com/ai-dossier/zt-operator/guest/boot"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// structure is an SMBIOS type 11 structure with the given strings.
func structure(texts ...string) []byte {
	raw := []byte{11, 5, 0, 0, byte(len(texts))}
	for _, text := range texts {
		raw = append(append(raw, text...), 0)
	}
	return append(raw, 0)
}

const (
	scope = brokerproto.OEMScope + "container"
	phase = brokerproto.OEMPhase + "verification"
	nonce = brokerproto.OEMNonce + "n1"
)

func TestParseIdentity(t *testing.T) {
	cases := map[string]struct {
		raw []byte
		ok  bool
	}{
		"scope, phase and nonce":        {structure(scope, phase, nonce), true},
		"in another order":              {structure(nonce, scope, phase), true},
		"with strings of others":        {structure("vendor", scope, phase, nonce), true},
		"without a scope":               {structure(phase, nonce), false},
		"without a phase":               {structure(scope, nonce), false},
		"without a nonce":               {structure(scope, phase), false},
		"of an unknown scope":           {structure(brokerproto.OEMScope+"vm-root", phase, nonce), false},
		"of an unknown phase":           {structure(scope, brokerproto.OEMPhase+"debug", nonce), false},
		"nothing":                       {nil, false},
		"a header alone":                {[]byte{11, 5, 0, 0, 0}, false},
		"a header longer than the rest": {[]byte{11, 200, 0, 0, 3, 'a'}, false},
		"a header too short":            {append([]byte{11, 4, 0, 0}, structure(scope, phase, nonce)...), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			identity, err := boot.ParseIdentity(c.raw)
			if (err == nil) != c.ok {
				t.Fatalf("parse: %v, want ok=%v", err, c.ok)
			}
			want := boot.Identity{Scope: brokerproto.ScopeContainer, Phase: brokerproto.PhaseVerification, Nonce: "n1"}
			if c.ok && identity != want {
				t.Fatalf("got %+v", identity)
			}
		})
	}
}

func FuzzParseIdentity(f *testing.F) {
	f.Add(structure(scope, phase, nonce))
	f.Fuzz(func(t *testing.T, raw []byte) {
		identity, err := boot.ParseIdentity(raw)
		if err == nil && !bytes.Contains(raw, []byte(brokerproto.OEMPhase+string(identity.Phase))) {
			t.Fatalf("a phase out of nothing: %+v", identity)
		}
	})
}
