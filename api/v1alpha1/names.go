package v1alpha1

// Names that more than one component reads.
const (
	// TeardownFinalizer keeps a ZTRun until its VM, pods and policies are gone.
	TeardownFinalizer = "zt.ai-dossier.org/teardown"

	// RunUIDLabel carries the UID of the ZTRun an object in the run namespace serves.
	RunUIDLabel = "zt.ai-dossier.org/run-uid"
	// RunNameAnnotation and RunNamespaceAnnotation name that ZTRun for people.
	RunNameAnnotation      = "zt.ai-dossier.org/run-name"
	RunNamespaceAnnotation = "zt.ai-dossier.org/run-namespace"
	// AttemptLabel carries the number of the attempt an object serves.
	AttemptLabel = "zt.ai-dossier.org/attempt"
	// RoleLabel says what an object in the run namespace is: one of the Role values.
	RoleLabel = "zt.ai-dossier.org/role"

	// ResumeAnnotation on a paused ZTRun starts its next attempt. Its value is the
	// number of the attempt that paused, so that one resume is followed by one attempt,
	// however often it is set: kubectl annotate ztr NAME zt.ai-dossier.org/resume=1.
	ResumeAnnotation = "zt.ai-dossier.org/resume"

	// SessionLabel groups the ZTRuns of one line of work: the candidates for one bug,
	// one after the other. Nothing but kubectl-zt reads it.
	SessionLabel = "zt.ai-dossier.org/session"
	// SessionEventAnnotation says what came before a run in its session:
	// plan_approved or revision_requested, with which the count of repairs starts anew.
	SessionEventAnnotation = "zt.ai-dossier.org/session-event"

	// BakedLabelPrefix, followed by a profile's name, is the node label that
	// carries the first BakedDigestLength hex digits of the profile's specDigest.
	BakedLabelPrefix  = "baked.zt.ai-dossier.org/"
	BakedDigestLength = 16

	// DefaultBundleKey is the ConfigMap key a git bundle is read from.
	DefaultBundleKey = "bundle"
)

// Values of RoleLabel.
const (
	RoleVM     = "vm"
	RoleMirror = "mirror"
	RoleSquid  = "squid"
	RoleSource = "source"
)
