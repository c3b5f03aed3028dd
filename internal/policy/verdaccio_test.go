package policy

import (
	"encoding/json"
	"testing"
)

func TestRenderVerdaccio(t *testing.T) {
	var config struct {
		Storage string                `json:"storage"`
		Listen  []string              `json:"listen"`
		Web     struct{ Enable bool } `json:"web"`
		Uplinks map[string]struct {
			URL   string `json:"url"`
			Proxy string `json:"https_proxy"`
		} `json:"uplinks"`
		Packages map[string]struct{ Access, Publish, Unpublish, Proxy string } `json:"packages"`
		Auth     struct {
			Htpasswd struct {
				MaxUsers int `json:"max_users"`
			} `json:"htpasswd"`
		} `json:"auth"`
	}
	decode := func(t *testing.T, params VerdaccioParams) {
		t.Helper()
		if err := json.Unmarshal([]byte(RenderVerdaccio(params)), &config); err != nil {
			t.Fatal(err)
		}
	}
	decode(t, VerdaccioParams{Proxy: "10.96.0.7:3128"})
	t.Run("its only uplink is the registry, through Squid", func(t *testing.T) {
		up := config.Uplinks["upstream"]
		if len(config.Uplinks) != 1 || up.URL != "https://registry.npmjs.org/" || up.Proxy != "http://10.96.0.7:3128" {
			t.Errorf("uplinks are %+v", config.Uplinks)
		}
	})
	t.Run("nobody publishes, registers or browses", func(t *testing.T) {
		for name, p := range config.Packages {
			if p.Publish != "$nobody" || p.Unpublish != "$nobody" || p.Proxy != "upstream" {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if len(config.Packages) == 0 || config.Web.Enable || config.Auth.Htpasswd.MaxUsers != -1 {
			t.Errorf("%+v", config)
		}
	})
	t.Run("it listens and stores where the pod expects it", func(t *testing.T) {
		if len(config.Listen) != 1 || config.Listen[0] != "0.0.0.0:4873" || config.Storage != "/verdaccio/storage" {
			t.Errorf("listens on %v, stores in %s", config.Listen, config.Storage)
		}
	})
	t.Run("no parameter changes its shape", func(t *testing.T) {
		hostile := "x\"\npackages:\n  '**': {publish: $all}\n"
		decode(t, VerdaccioParams{Proxy: hostile, Uplink: hostile, Storage: hostile})
		if config.Uplinks["upstream"].Proxy != "http://"+hostile || config.Packages["**"].Publish != "$nobody" {
			t.Errorf("%+v", config)
		}
	})
}
