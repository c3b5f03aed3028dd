package chart

import (
	"bufio"
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// permission is one verb on one resource; namespace is empty for cluster-wide.
type permission struct{ namespace, group, resource, verb string }

// namespaces are what the chart's templates and the markers in the code call them.
var namespaces = map[string]string{
	"{{ .Release.Namespace }}":        "zt-system",
	"{{ .Values.runNamespace.name }}": "zt-runs",
}

func TestTheOperatorMayDoWhatItsCodeAsksForAndNothingElse(t *testing.T) {
	compare(t, granted(t, "operator-rbac.yaml"), asked(t, "controllers", "cmd/operator"))
}

func TestTheNodeAgentMayWriteItsTwoRecordsAndReadItsRuns(t *testing.T) {
	want := map[permission]bool{}
	for _, resource := range []string{"ztruns", "ztprofiles"} {
		for _, verb := range []string{"get", "list", "watch"} {
			want[permission{"", "zt.ai-dossier.org", resource, verb}] = true
		}
		want[permission{"", "zt.ai-dossier.org", resource + "/status", "patch"}] = true
	}
	for _, verb := range []string{"get", "list", "watch"} {
		want[permission{"zt-runs", "", "pods", verb}] = true
	}
	want[permission{"zt-runs", "", "configmaps", "get"}] = true
	want[permission{"", "", "nodes", "get"}] = true
	compare(t, granted(t, "node-agent-rbac.yaml"), want)
}

func compare(t *testing.T, got, want map[permission]bool) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("nothing is asked for: the markers were not found")
	}
	for _, p := range slices.Collect(maps.Keys(got)) {
		if !want[p] {
			t.Errorf("granted without need: %+v", p)
		}
	}
	for _, p := range slices.Collect(maps.Keys(want)) {
		if !got[p] {
			t.Errorf("needed and not granted: %+v", p)
		}
	}
}

// granted reads the roles of one of the chart's templates.
func granted(t *testing.T, template string) map[permission]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "templates", template))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range namespaces {
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	text = regexp.MustCompile(`(?m)^.*\{\{.*\}\}.*$`).ReplaceAll(text, nil)
	got := map[permission]bool{}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var role rbacv1.Role
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		if role.Kind == "ClusterRole" || role.Kind == "Role" {
			for _, rule := range role.Rules {
				add(got, role.Namespace, rule.APIGroups, rule.Resources, rule.Verbs)
			}
		}
	}
	return got
}

func add(to map[permission]bool, namespace string, groups, resources, verbs []string) {
	for _, group := range groups {
		for _, resource := range resources {
			for _, verb := range verbs {
				to[permission{namespace, group, resource, verb}] = true
			}
		}
	}
}

var marker = regexp.MustCompile(`^// \+kubebuilder:rbac:(.*)$`)

// asked reads the RBAC markers of the code in some folders.
func asked(t *testing.T, folders ...string) map[permission]bool {
	t.Helper()
	want := map[permission]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			lines := bufio.NewScanner(bytes.NewReader(text))
			for lines.Scan() {
				if m := marker.FindStringSubmatch(lines.Text()); m != nil {
					parseMarker(want, m[1])
				}
			}
			return lines.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return want
}

func parseMarker(want map[permission]bool, text string) {
	fields := map[string][]string{}
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = strings.Split(strings.Trim(value, `"`), ";")
	}
	namespace := ""
	if n := fields["namespace"]; len(n) > 0 {
		namespace = n[0]
	}
	add(want, namespace, fields["groups"], fields["resources"], fields["verbs"])
}
