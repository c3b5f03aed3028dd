package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion names this API's group and version.
var GroupVersion = schema.GroupVersion{Group: "zt.ai-dossier.org", Version: "v1alpha1"}

// SchemeBuilder registers this package's types.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds this API's types to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ZTRun{}, &ZTRunList{},
		&ZTProfile{}, &ZTProfileList{},
		&ProxyPolicy{}, &ProxyPolicyList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
