package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/internal/cli/gitbundle"
	"github.com/ai-dossier/zt-operator/internal/cli/submit"
)

// maxRunName leaves room for the suffix of the ConfigMap's name.
const maxRunName = validation.DNS1123LabelMaxLength

type runOptions struct {
	waiter
	repo, base, regressionTest, candidate string
	targets                               []string
	profile, policy, name                 string
	ttl                                   int32
	wait                                  bool
	dryRun                                string
	session, sessionEvent                 string
}

func (a *app) runCommand() *cobra.Command {
	o := &runOptions{waiter: waiter{app: a, print: genericclioptions.NewPrintFlags("created").WithTypeSetter(scheme)}}
	cmd := &cobra.Command{
		Use:   "run --base REV --regression-test REV --candidate REV --target FILE",
		Short: "Submit a regression proof from a local repository and wait for the verdict",
		Long: "Submit a regression proof from a local repository and wait for the verdict.\n\n" +
			"The three revisions are resolved with git and packed, with their history and nothing else, into a git\n" +
			"bundle in a ConfigMap that the run owns. The regression test must fail on --regression-test (the base\n" +
			"with the test added) and pass on --candidate; the whole suite must pass on --base and on --candidate.\n\n" +
			exitCodesHelp,
		Example: `  # Is the bug real, and does the branch fix it?
  kubectl zt run --base main --regression-test fix~1 --candidate fix --target test/parse.test.js

  # The same as a manifest for kubectl apply -f
  kubectl zt run --base main --regression-test fix~1 --candidate fix --target test/parse.test.js --dry-run -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.repo, "repo", ".", "folder of the git repository")
	flags.StringVar(&o.base, "base", "", "revision with the bug")
	flags.StringVar(&o.regressionTest, "regression-test", "", "revision that adds the failing test to the base")
	flags.StringVar(&o.candidate, "candidate", "", "revision that adds the proposed fix")
	flags.StringSliceVar(&o.targets, "target", nil, "file of the regression test, from the repository's root; may be repeated")
	flags.StringVar(&o.profile, "profile", "default", "ZTProfile to run under")
	flags.StringVar(&o.policy, "policy", "", "ProxyPolicy for provisioning (default: the profile's)")
	flags.StringVar(&o.name, "name", "", "name of the run (default: made from the candidate's commit)")
	flags.Int32Var(&o.ttl, "ttl", -1, "seconds after completion when the run is deleted; negative keeps it")
	flags.BoolVar(&o.wait, "wait", true, "follow the run and print the verdict")
	flags.DurationVar(&o.timeout, "timeout", 0, "stop waiting after this long, for example 30m; 0 waits as long as the run takes")
	flags.StringVar(&o.dryRun, "dry-run", "none", "none, or client: print the objects, send nothing")
	flags.Lookup("dry-run").NoOptDefVal = "client"
	flags.StringVar(&o.session, "session", "", "line of work that the run belongs to; after two repairs in vain, no other candidate is submitted to it")
	flags.StringVar(&o.sessionEvent, "session-event", "", "plan_approved or revision_requested, with which the session's repairs are counted anew")
	o.print.AddFlags(cmd)
	for _, required := range []string{"base", "regression-test", "candidate", "target"} {
		_ = cmd.MarkFlagRequired(required)
	}
	return cmd
}

func (o *runOptions) run(ctx context.Context) error {
	if o.dryRun != "none" && o.dryRun != "client" {
		return usageError(fmt.Errorf("--dry-run is %q, expected none or client", o.dryRun))
	}
	if err := o.checkSession(); err != nil {
		return usageError(err)
	}
	request, err := o.request(ctx)
	if err != nil {
		return usageError(err)
	}
	cm, run, err := request.Objects()
	if err != nil {
		return usageError(err)
	}
	if o.dryRun == "client" {
		return o.printManifest(cm, run)
	}
	c, err := o.client()
	if err != nil {
		return failedError(err)
	}
	if err := o.allowed(ctx, c, run.Namespace); err != nil {
		return failedError(err)
	}
	if err := submit.Create(ctx, c, cm, run); err != nil {
		return failedError(err)
	}
	fmt.Fprintf(o.ErrOut, "ztrun %s/%s created (bundle: %d KiB)\n", run.Namespace, run.Name, (len(request.Bundle)+1023)/1024)
	if !o.wait {
		return o.submitted(run)
	}
	return o.waiter.wait(ctx, c, client.ObjectKeyFromObject(run))
}

// request resolves the command line against the repository.
func (o *runOptions) request(ctx context.Context) (*submit.Request, error) {
	repo, err := gitbundle.Open(ctx, o.repo)
	if err != nil {
		return nil, err
	}
	r := &submit.Request{Targets: o.targets, Profile: o.profile, Policy: o.policy, Session: o.session, SessionEvent: o.sessionEvent}
	for _, rev := range []struct {
		flag, rev string
		into      *string
	}{
		{"--base", o.base, &r.Base},
		{"--regression-test", o.regressionTest, &r.RegressionTest},
		{"--candidate", o.candidate, &r.Candidate},
	} {
		if *rev.into, err = repo.Resolve(ctx, rev.rev); err != nil {
			return nil, fmt.Errorf("%s: %w", rev.flag, err)
		}
	}
	if err := distinct(r); err != nil {
		return nil, err
	}
	for _, target := range r.Targets {
		if err := o.checkTarget(ctx, repo, r, target); err != nil {
			return nil, err
		}
	}
	if r.Namespace, err = o.namespace(); err != nil {
		return nil, err
	}
	if r.Name, err = o.runName(r.Candidate); err != nil {
		return nil, err
	}
	if o.ttl >= 0 {
		r.TTLSeconds = &o.ttl
	}
	r.Bundle, err = repo.Bundle(ctx, r.Base, r.RegressionTest, r.Candidate)
	return r, err
}

// distinct finds a revision given twice before the API server does, in the words
// of the command line.
func distinct(r *submit.Request) error {
	switch {
	case r.Base == r.RegressionTest:
		return fmt.Errorf("--base and --regression-test are both %s, expected the second to add the failing test", r.Base)
	case r.RegressionTest == r.Candidate:
		return fmt.Errorf("--regression-test and --candidate are both %s, expected the second to add the fix", r.Candidate)
	}
	return nil
}

func (o *runOptions) checkTarget(ctx context.Context, repo *gitbundle.Repository, r *submit.Request, target string) error {
	for flag, commit := range map[string]string{"--regression-test": r.RegressionTest, "--candidate": r.Candidate} {
		has, err := repo.HasFile(ctx, commit, target)
		if err != nil {
			return err
		}
		if !has {
			return fmt.Errorf("--target: no file %q in %s (%.12s); give the path from the repository's root", target, flag, commit)
		}
	}
	return nil
}

func (o *runOptions) runName(candidate string) (string, error) {
	if o.name == "" {
		return fmt.Sprintf("zt-%.8s-%s", candidate, rand.String(5)), nil
	}
	if problems := validation.IsDNS1123Label(o.name); len(problems) > 0 {
		return "", fmt.Errorf("--name is %q, expected at most %d lower case letters, digits and dashes: %s", o.name, maxRunName, strings.Join(problems, "; "))
	}
	return o.name, nil
}
