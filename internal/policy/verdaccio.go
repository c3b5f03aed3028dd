package policy

import (
	"encoding/json"
	"fmt"

	"github.com/ai-dossier/zt-operator/internal/registries"
)

// VerdaccioPort is where the npm mirror listens.
const VerdaccioPort = 4873

// VerdaccioParams are one attempt's facts for the npm mirror.
type VerdaccioParams struct {
	// Proxy is Squid's address and port. The mirror has no DNS: an IP address.
	Proxy string
	// Uplink is the registry's host; empty for the public one.
	Uplink string
	// Listen is the address and port; empty for every address, port 4873.
	Listen string
	// Storage is the writable folder; empty for /verdaccio/storage.
	Storage string
}

type object = map[string]any

// RenderVerdaccio returns the npm mirror's configuration: a read-only caching
// proxy of one uplink, reached through Squid only; no publishing, no web
// interface, no users, no search, no audit. It is JSON, which is YAML, so no text
// in params can change its shape.
func RenderVerdaccio(params VerdaccioParams) string {
	p := params.withDefaults()
	access := object{"access": "$all", "publish": "$nobody", "unpublish": "$nobody", "proxy": "upstream"}
	config := object{
		"storage": p.Storage,
		"listen":  []string{p.Listen},
		"auth":    object{"htpasswd": object{"file": p.Storage + "/htpasswd", "max_users": -1}},
		"web":     object{"enable": false},
		"publish": object{"allow_offline": false},
		"uplinks": object{"upstream": object{
			"url":          "https://" + p.Uplink + "/",
			"https_proxy":  "http://" + p.Proxy,
			"timeout":      "60s",
			"max_fails":    10,
			"fail_timeout": "5s",
			"maxage":       "12h",
			"cache":        true,
		}},
		"packages": object{"@*/*": access, "**": access},
		// 0 is for ever. A connection closed while a slow VM takes it up again is an
		// ECONNRESET in npm, and there are no retries.
		"server":        object{"keepAliveTimeout": 0},
		"middlewares":   object{},
		"max_body_size": "1kb",
		"log":           object{"type": "stdout", "format": "json", "level": "warn"},
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		// Maps of strings, numbers and booleans always marshal.
		panic(fmt.Sprintf("marshal the npm mirror's configuration: %v", err))
	}
	return string(text) + "\n"
}

func (p VerdaccioParams) withDefaults() VerdaccioParams {
	if p.Uplink == "" {
		p.Uplink = registries.NPMHost
	}
	if p.Listen == "" {
		p.Listen = fmt.Sprintf("0.0.0.0:%d", VerdaccioPort)
	}
	if p.Storage == "" {
		p.Storage = "/verdaccio/storage"
	}
	return p
}
