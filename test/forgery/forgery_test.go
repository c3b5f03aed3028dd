package forgery

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/protect"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

func (k kit) proof() v1alpha1.Proof {
	return v1alpha1.Proof{
		Mode:           v1alpha1.RegressionProof,
		Base:           v1alpha1.TreeRef{Commit: strings.Repeat("1", 40)},
		RegressionTest: v1alpha1.TreeRef{Commit: strings.Repeat("2", 40)},
		Candidate:      v1alpha1.TreeRef{Commit: strings.Repeat("3", 40)},
		Targets:        []v1alpha1.TargetPath{v1alpha1.TargetPath(k.target)},
	}
}

// No forgery is reproduced_and_fixed, and each is told by the detail its fixture
// names.
func TestForgeriesAreTold(t *testing.T) {
	for _, k := range kits {
		t.Run(k.name, func(t *testing.T) {
			for _, argv := range k.needs {
				if err := exec.Command(argv[0], argv[1:]...).Run(); err != nil {
					t.Fatalf("the fixtures need %q: %v", argv, err)
				}
			}
			all := k.candidates(t)
			if len(all) < k.least {
				t.Fatalf("%d fixtures, want at least %d", len(all), k.least)
			}
			k.installed(t)
			for _, c := range all {
				t.Run(c.name, func(t *testing.T) { k.tell(t, c) })
			}
		})
	}
}

func (k kit) tell(t *testing.T, c candidate) {
	if testing.Short() && c.name != "fix" {
		t.Skip("a few seconds of a real runner each")
	}
	t.Parallel()
	outcome := k.judge(t, c)
	if !slices.Contains(c.want, string(outcome.Detail)) {
		t.Errorf("%s\njudged %s (%s: %s), want %q", c.does, outcome.Detail, outcome.Subject, outcome.Message, c.want)
	}
	honest := c.name == "fix" || strings.HasPrefix(c.name, "remains-")
	if !honest && outcome.Result == v1alpha1.ResultReproducedAndFixed {
		t.Error("a forgery is reproduced_and_fixed")
	}
}

// judge takes a candidate through all that a run does: the source's checks, the plan,
// the trees in VMs, the verdict.
func (k kit) judge(t *testing.T, c candidate) v1alpha1.Outcome {
	t.Helper()
	proof, profile := k.proof(), k.profile()
	regression, base := k.project(t), k.project(t)
	delete(base, k.target)
	changed := c.change(regression)

	rules := protect.NewRules(listing(regression), tree(regression, '2').Root.Content, []string{k.target})
	src := &source.Source{Trees: map[v1alpha1.TreeName]source.Tree{
		v1alpha1.TreeBase: tree(base, '1'), v1alpha1.TreeRegressionTest: tree(regression, '2'), v1alpha1.TreeCandidate: tree(changed, '3'),
	}}
	for _, file := range rules.Files() {
		src.Protected = append(src.Protected, source.ProtectedFile{Path: file.Path, ID: file.ID, InBase: base[file.Path] != ""})
	}
	prepared, err := engine.Prepare(src, profile, proof.Targets)
	if err != nil {
		return engine.OutcomeOf(t.Context(), err)
	}
	if refused := rules.Check(listing(changed)); refused != nil {
		return engine.OutcomeOf(t.Context(), refused)
	}
	n := &native{t: t, kit: k, root: t.TempDir(), trees: map[string]files{"b": base, "r": regression, "c": changed}}
	record := engine.NewRecord(v1alpha1.ExecutionStatus{
		Attempt: 1, State: v1alpha1.ExecutionWaitingForProxy,
		Source: &v1alpha1.SourceStatus{Ecosystem: prepared.Detection.Ecosystem, Runtime: prepared.Runtime.Name},
	})
	e := &engine.Engine{Hypervisor: fake.New(n.guest()), Clock: clock.RealClock{}, Rand: rand.Reader}
	err = e.Execute(t.Context(), &engine.Attempt{
		Dir: dir(t), UIDs: uids(), Proof: proof, Profile: profile, Accelerator: v1alpha1.AcceleratorTCG,
		Clocks:   engine.ClocksFor(v1alpha1.AcceleratorKVM, v1alpha1.ProfileLimits{ProvisioningSeconds: 60, CommandSeconds: 60, RunSeconds: 600}, nil),
		Manifest: &image.Manifest{Runtimes: map[string]image.File{k.runtime.Name: {Path: "/images/" + k.runtime.Name}}},
		Source:   src, Prepared: prepared, Pod: pod{}, Trees: disks{}, Disks: disks{},
		DialMirror: func(context.Context) (net.Conn, error) {
			return nil, errors.New("no mirror: nothing is installed")
		},
		ProxyReady: func(context.Context) error { return nil },
		Record:     record,
	})
	if err != nil {
		return engine.OutcomeOf(t.Context(), err)
	}
	status := record.Snapshot()
	status.State = v1alpha1.ExecutionFinished
	outcome, _ := verdict.Judge(status, proof)
	if t.Failed() || testing.Verbose() {
		for _, tree := range status.Trees {
			for _, command := range tree.Commands {
				t.Logf("%s/%s: %s %s %+v %+v", tree.Name, command.Name, command.Classification, command.Problem, command.Report, command.Sentinel)
			}
		}
	}
	return outcome
}

func (k kit) profile() v1alpha1.ZTProfileSpec {
	return v1alpha1.ZTProfileSpec{
		VM:       v1alpha1.VMSpec{CPUs: 2, MemoryMiB: 1024, DiskMiB: 512},
		Worker:   v1alpha1.WorkerSpec{PIDs: 64, MemoryMiB: 512, TmpMiB: 64},
		Runtimes: []v1alpha1.Runtime{k.runtime},
		Proxy: v1alpha1.ProxySpec{Mirrors: []v1alpha1.Mirror{
			{Ecosystem: v1alpha1.EcosystemNPM}, {Ecosystem: v1alpha1.EcosystemPip}, {Ecosystem: v1alpha1.EcosystemUV},
		}},
	}
}

// tree is what the source reader says of a tree.
func tree(content files, digit byte) source.Tree {
	root := ecosystem.RootFiles{Content: map[string][]byte{}}
	for name := range content {
		if !strings.Contains(name, "/") {
			root.Names = append(root.Names, ecosystem.Entry{Name: name, Type: ecosystem.EntryFile, Size: int64(len(content[name]))})
			root.Content[name] = []byte(content[name])
		}
	}
	id := strings.Repeat(string(digit), 40)
	return source.Tree{Commit: id, TreeID: id, Files: len(content), Root: root}
}

func listing(content files) []protect.File {
	var all []protect.File
	for name, text := range content {
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
		all = append(all, protect.File{Path: name, ID: hex.EncodeToString(sum[:]), Mode: "100644", Size: int64(len(text))})
	}
	return all
}

func dir(t *testing.T) *safepath.Dir {
	t.Helper()
	base := t.TempDir()
	if err := os.Chmod(base, 0o711); err != nil {
		t.Fatal(err)
	}
	d, err := safepath.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

type pod struct{}

func (pod) Place() (hypervisor.Placement, error) { return hypervisor.Placement{}, nil }
func (pod) FreePort() (int, error)               { return 40000, nil }
func (pod) Dial(context.Context, int) (net.Conn, error) {
	return nil, errors.New("there is no forward")
}

type disks struct{}

func (disks) Disk(_ context.Context, name v1alpha1.TreeName, path string) error {
	return os.WriteFile(path, []byte(name), 0o444)
}

func (disks) NewDisk(_ context.Context, _ *image.Manifest, path string, _ uint32) error {
	return os.WriteFile(filepath.Clean(path), nil, 0o600)
}

// uids are those of this process: there is no QEMU to keep apart.
func uids() [3]uint32 {
	uid := uint32(os.Getuid())
	return [3]uint32{uid, uid, uid}
}
