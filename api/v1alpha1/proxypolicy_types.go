package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProxyPolicy says what a package mirror may ask of the registries. It can only
// narrow the operator's built-in ceiling; whatever it does not admit is denied.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=pxp,categories=zt,path=proxypolicies
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`
// +kubebuilder:printcolumn:name="Digest",type=string,JSONPath=`.status.digest`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ProxyPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProxyPolicySpec   `json:"spec"`
	Status ProxyPolicyStatus `json:"status,omitempty"`
}

// ProxyPolicyList is a list of ProxyPolicies.
//
// +kubebuilder:object:root=true
type ProxyPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ProxyPolicy `json:"items"`
}

// ProxyPolicySpec is what is admitted. Scheme https, port 443, no credentials, no
// query and no body are the ceiling and not configurable.
type ProxyPolicySpec struct {
	// methods admitted inside the tunnel.
	// +kubebuilder:default={"GET","HEAD"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	// +optional
	Methods []PolicyMethod `json:"methods,omitempty"`

	// hosts admitted, each with its path patterns.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Hosts []PolicyHost `json:"hosts"`

	// maxResponseMiB bounds one response's body, in MiB.
	// +kubebuilder:default=256
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	// +optional
	MaxResponseMiB int32 `json:"maxResponseMiB,omitempty"`

	// maxRedirects a mirror may follow for one file, all of them to an admitted host.
	// 0, the default, denies every redirect. Above 0 the proxy checks where each one
	// leads, and the count is left to the mirror: the proxy sees each hop as a
	// request of its own.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	// +optional
	MaxRedirects int32 `json:"maxRedirects,omitempty"`

	// forbiddenDestinations are address ranges refused after name resolution, in
	// CIDR notation, beside the built-in ones.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=49
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c))",message="every forbidden destination is a CIDR"
	// +listType=set
	// +optional
	ForbiddenDestinations []string `json:"forbiddenDestinations,omitempty"`
}

// PolicyMethod is an HTTP method that fetches.
//
// +kubebuilder:validation:Enum=GET;HEAD
type PolicyMethod string

// PolicyHost is one admitted host.
type PolicyHost struct {
	// name of the rule; the access log calls it allow_<name>.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	Name string `json:"name"`

	// host is the full DNS name; no wildcard, no address.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`
	Host string `json:"host"`

	// ecosystems whose mirrors may use this host.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Ecosystems []Ecosystem `json:"ecosystems"`

	// paths are regular expressions over the path, percent-decoded once; each is
	// anchored at both ends.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Paths []PathPattern `json:"paths"`
}

// PathPattern is an anchored regular expression in the syntax that RE2 and POSIX
// extended expressions share.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^\^/[!-~]*\$$`
type PathPattern string

// ProxyPolicyStatus is what was observed of a policy.
type ProxyPolicyStatus struct {
	// observedGeneration is the generation this status was made from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// digest is the SHA-256 of the policy in canonical form.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	Digest string `json:"digest,omitempty"`

	// configDigest is the SHA-256 of the Squid configuration rendered from it,
	// with placeholders for a run's own addresses.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	ConfigDigest string `json:"configDigest,omitempty"`

	// conditions: Valid.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
