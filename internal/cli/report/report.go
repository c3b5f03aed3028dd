package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// Write prints the verdict, why, and the evidence: each tree's VM and commands,
// what the VMs could reach, and what the proxy let through.
func Write(w io.Writer, run *v1alpha1.ZTRun) error {
	b := &strings.Builder{}
	headline(b, run)
	trees(b, run.Status.Execution)
	problems(b, run.Status.Execution)
	isolation(b, run.Status.Execution)
	egress(b, run.Status.Egress)
	audits(b, run)
	_, err := io.WriteString(w, b.String())
	return err
}

func headline(b *strings.Builder, run *v1alpha1.ZTRun) {
	status := &run.Status
	if record := status.Ended(); status.Outcome == nil && record != nil && record.End == v1alpha1.AttemptPaused {
		paused(b, run, record)
		return
	}
	if status.Outcome == nil {
		fmt.Fprintf(b, "ztrun %s/%s: no outcome\n", run.Namespace, run.Name)
		return
	}
	fmt.Fprintf(b, "ztrun %s/%s: %s", run.Namespace, run.Name, safe(string(status.Outcome.Result)))
	if detail := string(status.Outcome.Detail); detail != string(status.Outcome.Result) {
		fmt.Fprintf(b, " (%s)", safe(detail))
	}
	var facts []string
	if t := status.Timings; t != nil && t.Completed != nil {
		facts = append(facts, "in "+seconds(t.Completed.Sub(run.CreationTimestamp.Time)))
	}
	if status.NodeName != "" {
		facts = append(facts, "on "+safe(status.NodeName))
	}
	if e := status.Execution; e != nil && e.Accelerator != "" {
		facts = append(facts, "under "+safe(string(e.Accelerator)))
	}
	if status.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", status.Attempt))
	}
	if len(facts) > 0 {
		fmt.Fprintf(b, ", %s", strings.Join(facts, " "))
	}
	b.WriteByte('\n')
	if status.Outcome.Subject != "" {
		fmt.Fprintf(b, "  subject: %s\n", safe(status.Outcome.Subject))
	}
	if status.Outcome.Message != "" {
		fmt.Fprintf(b, "  %s\n", safe(status.Outcome.Message))
	}
}

func trees(b *strings.Builder, e *v1alpha1.ExecutionStatus) {
	if e == nil || len(e.Trees) == 0 {
		return
	}
	b.WriteByte('\n')
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TREE\tCOMMIT\tBOOT\tCOMMAND\tRESULT\tEXIT\tTESTS\tTIME")
	for i := range e.Trees {
		tree := &e.Trees[i]
		lead := fmt.Sprintf("%s\t%.12s\t%s", safe(string(tree.Name)), safe(tree.Commit), millis(tree.Timings.BootMillis))
		for j := range tree.Commands {
			c := &tree.Commands[j]
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", lead, safe(c.Name), safe(result(c)), exit(c), tests(c.Report), millis(c.DurationMillis))
			lead = "\t\t"
		}
		if len(tree.Commands) == 0 || tree.State == v1alpha1.TreeCancelled {
			fmt.Fprintf(tw, "%s\t-\t%s\t\t\t\n", lead, safe(string(tree.State)))
		}
	}
	tw.Flush()
}

// problems shows what commands printed that did not do what the proof hoped for.
func problems(b *strings.Builder, e *v1alpha1.ExecutionStatus) {
	if e == nil {
		return
	}
	for i := range e.Trees {
		for j := range e.Trees[i].Commands {
			c := &e.Trees[i].Commands[j]
			if c.Problem != "" {
				fmt.Fprintf(b, "\n%s %s: %s\n", safe(string(e.Trees[i].Name)), safe(c.Name), safe(c.Problem))
			}
			if surprising(e.Trees[i].Name, c) && c.OutputTail != "" {
				fmt.Fprintf(b, "\n%s %s printed last:\n", safe(string(e.Trees[i].Name)), safe(c.Name))
				for printed := range strings.SplitSeq(safetext.Tail([]byte(c.OutputTail), 2048), "\n") {
					fmt.Fprintf(b, "  | %s\n", printed)
				}
			}
		}
	}
}

// surprising reports whether the command ended otherwise than in a run that
// reproduces and fixes: only the regression test before the fix may fail, and what
// was planted to fail.
func surprising(tree v1alpha1.TreeName, c *v1alpha1.CommandStatus) bool {
	switch c.Classification {
	case v1alpha1.ClassPassed, v1alpha1.ClassSucceeded:
		return false
	case v1alpha1.ClassFailed:
		return (tree != v1alpha1.TreeRegressionTest || c.Name != "regression") && !asPlanted(c)
	}
	return true
}

// asPlanted reports whether a command failed because it was given failing tests, all
// of which its report has.
func asPlanted(c *v1alpha1.CommandStatus) bool {
	return c.Sentinel != nil && c.Report != nil && c.Sentinel.Planted > 0 &&
		c.Sentinel.Reported == c.Sentinel.Planted && c.Sentinel.Others == 0
}

// result is the command's class, and more where the class would mislead.
func result(c *v1alpha1.CommandStatus) string {
	if asPlanted(c) {
		return string(c.Classification) + " as planted"
	}
	return string(c.Classification)
}

func isolation(b *strings.Builder, e *v1alpha1.ExecutionStatus) {
	if e == nil {
		return
	}
	known, without := 0, 0
	for i := range e.Trees {
		if has := e.Trees[i].NetworkInVerification; has != nil {
			known++
			if !*has {
				without++
			}
		}
	}
	if known > 0 {
		fmt.Fprintf(b, "\nNetwork while repository code ran: none in %d of %d VMs\n", without, known)
	}
}

func egress(b *strings.Builder, e *v1alpha1.EgressStatus) {
	if e == nil {
		return
	}
	fmt.Fprintf(b, "Registry requests: %d admitted, %d denied, %d failed, %d KiB", e.Admitted, e.Denied, e.Failed, e.Bytes/1024)
	var hosts []string
	for _, h := range e.Hosts {
		hosts = append(hosts, fmt.Sprintf("%s %d", safe(h.Host), h.Count))
	}
	if len(hosts) > 0 {
		fmt.Fprintf(b, " (%s)", strings.Join(hosts, ", "))
	}
	b.WriteByte('\n')
}

func exit(c *v1alpha1.CommandStatus) string {
	switch {
	case c.TimedOut:
		return "timeout"
	case c.ExitCode != nil:
		return fmt.Sprint(*c.ExitCode)
	case c.Signal != 0:
		return fmt.Sprintf("signal %d", c.Signal)
	}
	return "-"
}

func tests(r *v1alpha1.ReportCounts) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%d run, %d failed", r.Tests, r.Failures)
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	return text
}

func millis(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fs", float64(ms)/1000)
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// safe escapes status text, which comes from agents next to untrusted code.
func safe(text string) string { return safetext.Line(text, 1024) }
