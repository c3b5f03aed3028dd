package main

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestEveryReasonAndConditionIsOnThePage(t *testing.T) {
	page, err := conditionsPage("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range v1alpha1.Catalogue {
		for _, entry := range section.Entries {
			if !strings.Contains(string(page), "| `"+string(entry.Detail)+"` |") {
				t.Errorf("%s has no row", entry.Detail)
			}
		}
	}
	for _, condition := range []string{v1alpha1.ConditionAdmitted, v1alpha1.ConditionComplete, v1alpha1.ConditionReady, v1alpha1.ConditionValid} {
		if !strings.Contains(string(page), "| `"+condition+"` |") {
			t.Errorf("condition %s is missing", condition)
		}
	}
}

func TestFieldsAreOnThePageWithTypeAndMeaning(t *testing.T) {
	page, err := apiPage("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `spec.proof.base.commit` | string | **required** commit is the full SHA-1",
		"| `status.execution.trees[].commands[].exitCode` | integer |",
		"| `spec.vm.cpuRequest` | quantity |",
		"| `spec.vm.cpus` | integer | cpus is the number of virtual CPUs. Default: `2`. |",
		"| `spec.vm.accelerator` | `KVM`, `TCG`, `Auto` |",
		"| `spec.nodeSelector` | map |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no row %q", want)
		}
	}
}

func TestEveryPlanIsOnThePage(t *testing.T) {
	page, err := plansPage("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans() {
		_, section, found := strings.Cut(string(page), "\n## "+p.title+"\n")
		if !found {
			t.Errorf("%s has no section", p.title)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, c := range p.commands() {
			if !strings.Contains(section, "`"+string(c.Network)+"` | `"+strings.Join(c.Argv, " ")+"` |") {
				t.Errorf("%s: no row for %s", p.title, c.Name)
			}
		}
	}
	for _, want := range []string{"| `--ignore-scripts` | Install scripts would run", "| `PIP_CONFIG_FILE` | `/dev/null` | install, suite, regression |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no row %q", want)
		}
	}
}
