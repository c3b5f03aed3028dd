package main

import (
	"flag"
	"strings"
	"testing"
)

func TestOptionsAreRefusedOrAccepted(t *testing.T) {
	for name, tc := range map[string]struct {
		env  string
		args []string
		says string
	}{
		"everything by flag":                   {"", []string{"--operator-namespace=zt-system", "--holder-image=x"}, ""},
		"the namespace from the environment":   {"zt-system", []string{"--holder-image=x"}, ""},
		"no namespace":                         {"", []string{"--holder-image=x"}, "--operator-namespace"},
		"no holder image":                      {"zt-system", nil, "--holder-image"},
		"runs in the operator's own namespace": {"zt-runs", []string{"--holder-image=x"}, "--run-namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", tc.env)
			o, flags := &options{}, flag.NewFlagSet("operator", flag.ContinueOnError)
			o.bind(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := o.validate()
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("answered %v, want %q", err, tc.says)
			}
		})
	}
}
