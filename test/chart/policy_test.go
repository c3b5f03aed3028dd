package chart

import (
	"os"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

const chartDir = "../../charts/zt-operator"

func TestTheDefaultPolicyIsTheOneTheCodeKnows(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/files/default-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec v1alpha1.ProxyPolicySpec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		t.Fatal(err)
	}
	if want := policy.Default(); !reflect.DeepEqual(spec, want) {
		t.Errorf("files/default-policy.yaml is\n%+v\nwant policy.Default()\n%+v", spec, want)
	}
	if problems := policy.Validate(spec); len(problems) != 0 {
		t.Errorf("the default policy is not valid: %v", problems)
	}
}
