package npm

import (
	"regexp"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// project is what package.json says.
type project struct {
	managerVersion string
	declarations   []runtimes.Declaration
	// scripts of package.json, packages of the lockfile by their location.
	scripts, packages *boundedjson.Object
}

// dependencyFields hold a package's edges.
var dependencyFields = []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"}

func readManifest(manifest *boundedjson.Object) (project, error) {
	var p project
	for _, check := range []func(*boundedjson.Object, *project) error{
		readPackageManager, readEngines, refuseWorkspaces, checkDependencies, requireTestScript,
	} {
		if err := check(manifest, &p); err != nil {
			return project{}, err
		}
	}
	return p, nil
}

var packageManager = regexp.MustCompile(`^npm@([0-9]+\.[0-9]+\.[0-9]+)$`)

func readPackageManager(manifest *boundedjson.Object, p *project) error {
	value, ok := manifest.Get("packageManager")
	if !ok {
		return nil
	}
	text, _ := value.(string)
	m := packageManager.FindStringSubmatch(text)
	if m == nil {
		return refusal.New(v1alpha1.DetailUnsupportedManager, "packageManager", "it is not npm@X.Y.Z")
	}
	p.managerVersion = m[1]
	p.declarations = append(p.declarations, runtimes.Declaration{
		Source: "packageManager", Target: runtimes.Manager, Syntax: runtimes.ExactVersion, Value: m[1],
	})
	return nil
}

func readEngines(manifest *boundedjson.Object, p *project) error {
	value, ok := manifest.Get("engines")
	if !ok {
		return nil
	}
	engines, ok := value.(*boundedjson.Object)
	if !ok {
		return refusal.New(v1alpha1.DetailRuntimeDeclaration, "engines", "it is not an object")
	}
	for _, engine := range []struct {
		key    string
		target runtimes.Target
	}{{"node", runtimes.Interpreter}, {"npm", runtimes.Manager}} {
		value, ok := engines.Get(engine.key)
		if !ok {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return refusal.New(v1alpha1.DetailRuntimeDeclaration, "engines."+engine.key, "it is not a string")
		}
		p.declarations = append(p.declarations, runtimes.Declaration{
			Source: "engines." + engine.key, Target: engine.target, Syntax: runtimes.NPMRange, Value: text,
		})
	}
	return nil
}

func refuseWorkspaces(manifest *boundedjson.Object, _ *project) error {
	if _, ok := manifest.Get("workspaces"); ok {
		return refusal.New(v1alpha1.DetailUnsupportedDependency, "workspaces",
			"workspaces are linked folders of the repository; only releases of the registry are installed")
	}
	return nil
}

// checkDependencies reads package.json's own edges. The lockfile decides what is
// fetched; this names the edge that a person has to change.
func checkDependencies(manifest *boundedjson.Object, _ *project) error {
	for _, field := range dependencyFields {
		value, ok := manifest.Get(field)
		if !ok {
			continue
		}
		edges, ok := value.(*boundedjson.Object)
		if !ok {
			return refusal.New(v1alpha1.DetailInvalidManifest, field, "it is not an object")
		}
		for _, name := range edges.Keys() {
			spec, _ := edges.Get(name)
			text, ok := spec.(string)
			if !ok {
				return refusal.New(v1alpha1.DetailInvalidManifest, name, "its specifier is not a string")
			}
			if !fromRegistry(text) {
				return refusal.New(v1alpha1.DetailUnsupportedDependency, name,
					"its specifier is a git repository, URL, path, link or workspace; only releases of the registry are installed")
			}
		}
	}
	return nil
}

var archive = regexp.MustCompile(`(?i)\.(tgz|tar\.gz|tar)$`)

// fromRegistry reports whether npm takes a specifier for a range, a version or a tag
// of the registry, possibly under an alias.
func fromRegistry(spec string) bool {
	spec = strings.TrimSpace(spec)
	if _, target, ok := aliased(spec); ok {
		spec = target
	}
	// npm takes a leading dot or tilde-slash, a slash and an archive's ending for a
	// path or a hosted repository, and a colon for a URL.
	return !strings.ContainsAny(spec, ":/\\") && !strings.HasPrefix(spec, ".") && !archive.MatchString(spec)
}

// aliased splits the specifier npm:name@range; ok is false for any other.
func aliased(spec string) (name, target string, ok bool) {
	rest, ok := strings.CutPrefix(spec, "npm:")
	if !ok {
		return "", "", false
	}
	at := strings.LastIndex(rest, "@")
	if at <= 0 {
		return rest, "", packageName.MatchString(rest)
	}
	return rest[:at], rest[at+1:], packageName.MatchString(rest[:at])
}

var blanks = regexp.MustCompile(`\s+`)

// placeholder is the test script that npm init writes.
const placeholder = `echo "Error: no test specified" && exit 1`

func requireTestScript(manifest *boundedjson.Object, p *project) error {
	value, _ := manifest.Get("scripts")
	scripts, ok := value.(*boundedjson.Object)
	if !ok {
		return refusal.New(v1alpha1.DetailNoTestRunner, "scripts.test", "package.json has no scripts.test")
	}
	value, _ = scripts.Get("test")
	script, ok := value.(string)
	script = blanks.ReplaceAllString(strings.TrimSpace(script), " ")
	switch {
	case !ok || script == "":
		return refusal.New(v1alpha1.DetailNoTestRunner, "scripts.test", "package.json has no scripts.test")
	case script == placeholder:
		return refusal.New(v1alpha1.DetailNoTestRunner, "scripts.test", "it is the placeholder that npm init writes")
	}
	p.scripts = scripts
	return nil
}
