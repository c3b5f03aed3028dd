package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ZTProfile says what a VM is: its size, its accelerator, the guest image and
// worker runtimes it boots from, its limits, and the proxy images beside it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ztp,categories=zt
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Baked",type=integer,JSONPath=`.status.bakedNodes`
// +kubebuilder:printcolumn:name="Digest",type=string,JSONPath=`.status.specDigest`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="a profile's name is part of a node label: at most 63 characters"
type ZTProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ZTProfileSpec   `json:"spec"`
	Status ZTProfileStatus `json:"status,omitempty"`
}

// ZTProfileList is a list of ZTProfiles.
//
// +kubebuilder:object:root=true
type ZTProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ZTProfile `json:"items"`
}

// AcceleratorPolicy is which accelerator a profile admits.
//
// +kubebuilder:validation:Enum=KVM;TCG;Auto
type AcceleratorPolicy string

// The accelerator policies. Auto takes KVM on a node where a VM booted under it,
// else TCG; KVM is never downgraded.
const (
	AcceleratorPolicyKVM  AcceleratorPolicy = "KVM"
	AcceleratorPolicyTCG  AcceleratorPolicy = "TCG"
	AcceleratorPolicyAuto AcceleratorPolicy = "Auto"
)

// Accelerator is what a VM runs under.
//
// +kubebuilder:validation:Enum=kvm;tcg
type Accelerator string

// The accelerators.
const (
	AcceleratorKVM Accelerator = "kvm"
	AcceleratorTCG Accelerator = "tcg"
)

// ZTProfileSpec is what a VM is.
type ZTProfileSpec struct {
	// vm is the virtual machine's size and accelerator.
	// +kubebuilder:default={}
	// +optional
	VM VMSpec `json:"vm,omitempty"`

	// parallelTrees is how many trees of a run are executed at once, each in a VM of
	// its own. The vm pod requests the resources of so many VMs; 3 gives the fastest
	// verdict.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3
	// +optional
	ParallelTrees int32 `json:"parallelTrees,omitempty"`

	// worker bounds the container that repository code runs in.
	// +kubebuilder:default={}
	// +optional
	Worker WorkerSpec `json:"worker,omitempty"`

	// guest is the OCI image with the guest kernel and initial RAM disk.
	Guest PinnedImage `json:"guest"`

	// runtimes are the worker root filesystems.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Runtimes []Runtime `json:"runtimes"`

	// proxy says what stands between a VM and the registries.
	Proxy ProxySpec `json:"proxy"`

	// limits of every run of this profile.
	// +kubebuilder:default={}
	// +optional
	Limits ProfileLimits `json:"limits,omitempty"`

	// nodeSelector narrows the nodes that bake this profile and run its VMs.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// VMSpec is a virtual machine's size and accelerator.
//
// +kubebuilder:validation:XValidation:rule="!has(self.cpuRequest) || (type(self.cpuRequest) == int ? int(self.cpuRequest) <= self.cpus : quantity(self.cpuRequest).asApproximateFloat() <= double(self.cpus))",message="cpuRequest may not exceed cpus"
type VMSpec struct {
	// cpus is the number of virtual CPUs.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	CPUs int32 `json:"cpus,omitempty"`

	// cpuRequest is what the scheduler reserves for the VM; without it, one CPU
	// for each virtual CPU. A smaller value overcommits the node on purpose.
	// +optional
	CPURequest *resource.Quantity `json:"cpuRequest,omitempty"`

	// memoryMiB is the guest's memory in MiB. QEMU's own overhead is added to the
	// pod's request.
	// +kubebuilder:default=2048
	// +kubebuilder:validation:Minimum=512
	// +kubebuilder:validation:Maximum=262144
	// +optional
	MemoryMiB int32 `json:"memoryMiB,omitempty"`

	// diskMiB is the size of the run's disk in MiB: workspace, installed packages
	// and scratch space together.
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=512
	// +kubebuilder:validation:Maximum=262144
	// +optional
	DiskMiB int32 `json:"diskMiB,omitempty"`

	// accelerator this profile admits.
	// +kubebuilder:default=Auto
	// +optional
	Accelerator AcceleratorPolicy `json:"accelerator,omitempty"`
}

// WorkerSpec bounds the container that repository code runs in, inside the VM.
type WorkerSpec struct {
	// pids is the most processes and threads at once.
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=32768
	// +optional
	PIDs int32 `json:"pids,omitempty"`

	// memoryMiB of the container; the rest is the guest kernel's and agent's.
	// +kubebuilder:default=1536
	// +kubebuilder:validation:Minimum=128
	// +kubebuilder:validation:Maximum=262144
	// +optional
	MemoryMiB int32 `json:"memoryMiB,omitempty"`

	// tmpMiB is the size of the container's /tmp.
	// +kubebuilder:default=512
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=65536
	// +optional
	TmpMiB int32 `json:"tmpMiB,omitempty"`
}

// PinnedImage is an OCI image named by digest.
type PinnedImage struct {
	// image reference with its digest: registry/repository@sha256:…
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._:/-]*@sha256:[0-9a-f]{64}$`
	Image string `json:"image"`
}

// Language is what a worker runtime interprets.
//
// +kubebuilder:validation:Enum=node;python
type Language string

// The languages of worker runtimes.
const (
	LanguageNode   Language = "node"
	LanguagePython Language = "python"
)

// Runtime is one worker root filesystem, baked from a pinned image.
type Runtime struct {
	PinnedImage `json:",inline"`

	// name of the runtime, such as node-22.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`

	// language it interprets.
	Language Language `json:"language"`

	// version of the interpreter, X.Y.Z.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9]+\.[0-9]+\.[0-9]+$`
	Version string `json:"version"`

	// managers are the package managers it carries.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Managers []Manager `json:"managers"`
}

// Manager is one package manager of a runtime.
type Manager struct {
	// name of the manager, an ecosystem.
	Name Ecosystem `json:"name"`
	// version of the manager.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+){0,2}$`
	Version string `json:"version"`
}

// ProxySpec says what stands between a VM and the registries.
type ProxySpec struct {
	// squid is the egress proxy.
	Squid Squid `json:"squid"`

	// mirrors are the package mirrors, one for each ecosystem that runs may use.
	// +listType=map
	// +listMapKey=ecosystem
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Mirrors []Mirror `json:"mirrors"`

	// policyRef names the ProxyPolicy of runs that name none.
	// +kubebuilder:default={name: "default"}
	// +optional
	PolicyRef ObjectRef `json:"policyRef,omitempty"`

	// caBundle names the ConfigMap, in the operator's namespace, with the PEM
	// certificates that Squid trusts for the registries. Without it, those of the
	// Squid image.
	// +optional
	CABundle *ConfigMapKeyRef `json:"caBundle,omitempty"`
}

// Squid is the egress proxy of a run.
type Squid struct {
	PinnedImage `json:",inline"`

	// memoryMiB bounds its memory.
	// +kubebuilder:default=512
	// +kubebuilder:validation:Minimum=128
	// +kubebuilder:validation:Maximum=16384
	// +optional
	MemoryMiB int32 `json:"memoryMiB,omitempty"`
}

// Mirror is the package mirror of one ecosystem.
type Mirror struct {
	PinnedImage `json:",inline"`

	// ecosystem it serves.
	Ecosystem Ecosystem `json:"ecosystem"`

	// memoryMiB bounds its memory.
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=256
	// +kubebuilder:validation:Maximum=16384
	// +optional
	MemoryMiB int32 `json:"memoryMiB,omitempty"`

	// cacheMiB bounds what it keeps of a run's packages, on the node's disk. All of it
	// is hashed after each tree's installation.
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=256
	// +kubebuilder:validation:Maximum=16384
	// +optional
	CacheMiB int32 `json:"cacheMiB,omitempty"`
}

// ProfileLimits bound every run of a profile. Seconds of commands are on the KVM
// clock; under TCG they are multiplied by 16.
type ProfileLimits struct {
	// placementSeconds bounds the wait for a capable node with room, in wall-clock
	// time.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	PlacementSeconds int32 `json:"placementSeconds,omitempty"`

	// provisioningSeconds bounds one provisioning command.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=21600
	// +optional
	ProvisioningSeconds int32 `json:"provisioningSeconds,omitempty"`

	// commandSeconds bounds one verification command.
	// +kubebuilder:default=1200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=21600
	// +optional
	CommandSeconds int32 `json:"commandSeconds,omitempty"`

	// runSeconds bounds the whole run from its placement, in wall-clock time.
	// +kubebuilder:default=7200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	RunSeconds int32 `json:"runSeconds,omitempty"`
}

// ZTProfileStatus is what was observed of a profile.
type ZTProfileStatus struct {
	// observedGeneration is the generation this status was made from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// specDigest is the SHA-256 of what the nodes bake: guest, runtimes and VM.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	SpecDigest string `json:"specDigest,omitempty"`

	// bakedNodes counts the nodes that have baked the current spec.
	// +optional
	BakedNodes int32 `json:"bakedNodes,omitempty"`

	// conditions: Ready.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodes is each node agent's own record, written with server-side apply.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=5000
	// +optional
	Nodes []NodeBake `json:"nodes,omitempty"`
}

// BakeState is how far a node is with baking a profile.
//
// +kubebuilder:validation:Enum=Baking;Baked;Failed
type BakeState string

// The bake states.
const (
	BakeBaking BakeState = "Baking"
	BakeBaked  BakeState = "Baked"
	BakeFailed BakeState = "Failed"
)

// NodeBake is one node's record of one profile.
type NodeBake struct {
	// name of the node.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// state of the bake.
	State BakeState `json:"state"`

	// generation of the profile the state is of.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// detail is the catalogue code of a failed bake.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Detail Detail `json:"detail,omitempty"`

	// message says what was found and what to do.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// accelerator VMs of this profile get on this node.
	// +optional
	Accelerator Accelerator `json:"accelerator,omitempty"`

	// manifestDigest is the SHA-256 of the manifest of everything a VM boots from.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	ManifestDigest string `json:"manifestDigest,omitempty"`
}
