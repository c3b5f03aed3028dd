package boot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

const smbiosStrings = "/sys/firmware/dmi/entries/11-0/raw"

// Identity is what the host says the VM is.
type Identity struct {
	// Scope of the agent.
	Scope brokerproto.Scope
	// Phase of this boot.
	Phase brokerproto.Phase
	// Nonce that the hello returns, as proof that it is this boot's.
	Nonce string
}

func readIdentity() (Identity, error) {
	raw, err := os.ReadFile(smbiosStrings)
	if err != nil {
		return Identity{}, fmt.Errorf("read the boot strings: %w", err)
	}
	return ParseIdentity(raw)
}

// ParseIdentity reads the identity from an SMBIOS type 11 structure: a header whose
// second byte is its length, then strings that end in NUL.
func ParseIdentity(raw []byte) (Identity, error) {
	if len(raw) < 5 || int(raw[1]) < 5 || int(raw[1]) > len(raw) {
		return Identity{}, errors.New("boot strings: malformed structure")
	}
	var identity Identity
	for text := range bytes.SplitSeq(raw[raw[1]:], []byte{0}) {
		identity.take(string(text))
	}
	// What a phase may do differs; a VM that was not told its phase has none.
	switch {
	case identity.Scope != brokerproto.ScopeContainer:
		return Identity{}, errors.New("boot strings: no known scope")
	case identity.Phase != brokerproto.PhaseProvisioning && identity.Phase != brokerproto.PhaseVerification:
		return Identity{}, errors.New("boot strings: no known phase")
	case identity.Nonce == "":
		return Identity{}, errors.New("boot strings: no nonce")
	}
	return identity, nil
}

func (i *Identity) take(text string) {
	if value, is := strings.CutPrefix(text, brokerproto.OEMScope); is {
		i.Scope = brokerproto.Scope(value)
	}
	if value, is := strings.CutPrefix(text, brokerproto.OEMPhase); is {
		i.Phase = brokerproto.Phase(value)
	}
	if value, is := strings.CutPrefix(text, brokerproto.OEMNonce); is {
		i.Nonce = value
	}
}
