package v1alpha1

import "strings"

// Detail is a code of the reason catalogue. A condition's reason is the same code
// in CamelCase; see Detail.Reason.
type Detail string

// Reason returns the code in the CamelCase form that conditions and events use:
// bundle_missing is BundleMissing.
func (d Detail) Reason() string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(d), "_") {
		if word == "" {
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// Progress reasons: they explain a condition that is not yet or simply true.
const (
	DetailAdmitted            Detail = "admitted"
	DetailSuspended           Detail = "suspended"
	DetailWaitingForProfile   Detail = "waiting_for_profile"
	DetailWaitingForCapacity  Detail = "waiting_for_capacity"
	DetailVMPodStarting       Detail = "vm_pod_starting"
	DetailScheduled           Detail = "scheduled"
	DetailReadingSource       Detail = "reading_source"
	DetailSourceRead          Detail = "source_read"
	DetailProxyStarting       Detail = "proxy_starting"
	DetailProxyReady          Detail = "proxy_ready"
	DetailProvisioning        Detail = "provisioning"
	DetailProvisioned         Detail = "provisioned"
	DetailVerifying           Detail = "verifying"
	DetailVerified            Detail = "verified"
	DetailNoNetwork           Detail = "no_network"
	DetailNotReached          Detail = "not_reached"
	DetailTearingDown         Detail = "tearing_down"
	DetailTornDown            Detail = "torn_down"
	DetailBlockedCleanup      Detail = "blocked_cleanup"
	DetailRunning             Detail = "running"
	DetailProfileReady        Detail = "profile_ready"
	DetailNotBakedYet         Detail = "not_baked_yet"
	DetailPolicyValid         Detail = "policy_valid"
	DetailAttemptInterrupted  Detail = "attempt_interrupted"
	DetailReproducedAndFixed  Detail = "reproduced_and_fixed"
	DetailRegressionPassed    Detail = "regression_passed_on_base"
	DetailRegressionStillFail Detail = "regression_failed_on_candidate"
	DetailSuiteBroken         Detail = "suite_failed_on_candidate"

	DetailWaitingForNetworkProbe Detail = "waiting_for_network_probe"
	DetailNetworkPolicyEnforced  Detail = "network_policy_enforced"
	DetailPaused                 Detail = "paused"
	DetailResumed                Detail = "resumed"
)

// Refusals and failures. Every one has an entry in Catalogue.
const (
	DetailUnknownProfile          Detail = "unknown_profile"
	DetailUnknownPolicy           Detail = "unknown_policy"
	DetailPolicyInvalid           Detail = "policy_invalid"
	DetailNoCapableNode           Detail = "no_capable_node"
	DetailCapacityTimedOut        Detail = "capacity_timed_out"
	DetailCABundleMissing         Detail = "ca_bundle_missing"
	DetailBundleMissing           Detail = "bundle_missing"
	DetailBundleInvalid           Detail = "bundle_invalid"
	DetailBundleTooLarge          Detail = "bundle_too_large"
	DetailCommitNotInBundle       Detail = "commit_not_in_bundle"
	DetailTreeUnsupported         Detail = "tree_unsupported"
	DetailTargetMissing           Detail = "target_missing"
	DetailNoEcosystem             Detail = "no_ecosystem"
	DetailAmbiguousManager        Detail = "ambiguous_manager"
	DetailUnsupportedManager      Detail = "unsupported_manager"
	DetailUnsupportedConfig       Detail = "unsupported_config"
	DetailMissingManifest         Detail = "missing_manifest"
	DetailInvalidManifest         Detail = "invalid_manifest"
	DetailMissingLockfile         Detail = "missing_lockfile"
	DetailInvalidLockfile         Detail = "invalid_lockfile"
	DetailUnsupportedLockfile     Detail = "unsupported_lockfile_version"
	DetailUnsupportedDependency   Detail = "unsupported_dependency"
	DetailMissingHash             Detail = "missing_hash"
	DetailLockConflict            Detail = "lock_entry_conflict"
	DetailUnpinnedRequirement     Detail = "unpinned_requirement"
	DetailUnsupportedMarker       Detail = "unsupported_marker"
	DetailBinaryUnavailable       Detail = "binary_unavailable"
	DetailProjectBuildRequired    Detail = "project_build_required"
	DetailNoTestRunner            Detail = "no_test_runner"
	DetailRuntimeUnspecified      Detail = "runtime_unspecified"
	DetailRuntimeDeclaration      Detail = "runtime_declaration_invalid"
	DetailRuntimeUnsupported      Detail = "runtime_version_unsupported"
	DetailRuntimeConflict         Detail = "runtime_conflict"
	DetailManagerUnsupported      Detail = "manager_unsupported"
	DetailEcosystemNotOffered     Detail = "ecosystem_not_offered"
	DetailProxyNotReady           Detail = "proxy_not_ready"
	DetailInstallFailed           Detail = "install_failed"
	DetailInstallTimedOut         Detail = "install_timed_out"
	DetailBaseSuiteFailed         Detail = "base_suite_failed"
	DetailCommandInconclusive     Detail = "command_inconclusive"
	DetailFewerTests              Detail = "fewer_tests_on_candidate"
	DetailRebuildFailed           Detail = "rebuild_failed"
	DetailTargetUnsupported       Detail = "target_unsupported"
	DetailProtectedPathChanged    Detail = "protected_path_changed"
	DetailWorkspaceTampered       Detail = "workspace_tampered"
	DetailTestMissing             Detail = "test_missing_on_candidate"
	DetailTestSkipped             Detail = "test_skipped_on_candidate"
	DetailRegressionSkipped       Detail = "regression_test_skipped"
	DetailSentinelNotReported     Detail = "sentinel_not_reported"
	DetailCopyNotPassed           Detail = "regression_copy_not_passed"
	DetailEvidenceIncomplete      Detail = "evidence_incomplete"
	DetailNetworkPresent          Detail = "network_present_in_verification"
	DetailVMBootFailed            Detail = "vm_boot_failed"
	DetailVMPhaseChangeFailed     Detail = "vm_phase_change_failed"
	DetailVMLost                  Detail = "vm_lost"
	DetailBrokerTainted           Detail = "vm_broker_tainted"
	DetailVMPodFailed             Detail = "vm_pod_failed"
	DetailRunTimedOut             Detail = "run_timed_out"
	DetailExecutionInterrupted    Detail = "execution_interrupted"
	DetailNodeError               Detail = "node_error"
	DetailUnsupportedArch         Detail = "unsupported_arch"
	DetailQEMUMissing             Detail = "qemu_missing"
	DetailQEMUImgMissing          Detail = "qemu_img_missing"
	DetailExt4ToolMissing         Detail = "ext4_tool_missing"
	DetailGitMissing              Detail = "git_missing"
	DetailKVMUnavailable          Detail = "kvm_unavailable"
	DetailProfileImageMissing     Detail = "profile_image_missing"
	DetailProfileImageMismatch    Detail = "profile_image_mismatch"
	DetailProfileImageUntrusted   Detail = "profile_image_untrusted"
	DetailProfileImageUnpackable  Detail = "profile_image_unpackable"
	DetailBakeFailed              Detail = "bake_failed"
	DetailPolicyPatternInvalid    Detail = "policy_pattern_invalid"
	DetailPolicyWidensCeiling     Detail = "policy_widens_ceiling"
	DetailPolicyDestinationFormat Detail = "policy_destination_invalid"

	DetailNetworkPolicyNotEnforced Detail = "network_policy_not_enforced"
	DetailEgressViolation          Detail = "egress_violation"
	DetailCacheAuditFailed         Detail = "cache_audit_failed"
	DetailCacheAuditMissing        Detail = "cache_audit_missing"
	DetailRegistryFailed           Detail = "registry_failed"
	DetailRequestDenied            Detail = "request_denied"
	DetailProfileNotBaked          Detail = "profile_not_baked"
	DetailRecordMissing            Detail = "record_missing"
	DetailRecordMismatch           Detail = "record_mismatch"
	DetailArtifactHashMismatch     Detail = "artifact_hash_mismatch"

	// Why a registry failed a request, as Squid saw it.
	DetailRegistryNameFailed   Detail = "registry_name_failed"
	DetailRegistryUnreachable  Detail = "registry_unreachable"
	DetailRegistryTLSFailed    Detail = "registry_tls_failed"
	DetailCertificateUntrusted Detail = "registry_certificate_untrusted"
	DetailRegistryTimedOut     Detail = "registry_timed_out"
	DetailRegistryReplyBroken  Detail = "registry_reply_broken"
	DetailRegistryError        Detail = "registry_error"

	// What became of the mirror or of Squid.
	DetailProxyEnded       Detail = "proxy_ended"
	DetailProxyOutOfMemory Detail = "proxy_out_of_memory"
	DetailProxyDiskFull    Detail = "proxy_disk_full"
)
