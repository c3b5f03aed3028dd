package cli

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// printManifest prints the objects as a user would write them: without the fields
// that only a server fills in.
func (o *runOptions) printManifest(cm *corev1.ConfigMap, run *v1alpha1.ZTRun) error {
	if !o.print.OutputFlagSpecified() {
		*o.print.OutputFormat = "yaml"
	}
	printer, err := o.print.ToPrinter()
	if err != nil {
		return usageError(err)
	}
	for _, object := range []runtime.Object{cm, run} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return failedError(fmt.Errorf("print %T: %w", object, err))
		}
		delete(content, "status")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		if err := printer.PrintObj(&unstructured.Unstructured{Object: content}, o.Out); err != nil {
			return failedError(err)
		}
	}
	return nil
}

// submitted prints a run that is not waited for.
func (o *waiter) submitted(run *v1alpha1.ZTRun) error {
	if !o.print.OutputFlagSpecified() {
		fmt.Fprintf(o.ErrOut, "follow it: kubectl zt watch -n %s %s\n", run.Namespace, run.Name)
		return nil
	}
	printer, err := o.print.ToPrinter()
	if err != nil {
		return usageError(err)
	}
	return printer.PrintObj(run, o.Out)
}
