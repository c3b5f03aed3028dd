package v1alpha1

// Entry explains one code of the reason catalogue.
type Entry struct {
	// Detail is the code.
	Detail Detail
	// Result is the class of outcome it belongs to.
	Result Result
	// Meaning says what was found.
	Meaning string
	// Remedy says what to do next.
	Remedy string
}

// Section groups the entries of one part of a run.
type Section struct {
	Title   string
	Entries []Entry
}

// Catalogue explains every verdict, refusal and failure, in the order in which a
// run can meet them. docs/conditions.md is generated from it.
var Catalogue = []Section{
	{"Verdicts", []Entry{
		{
			DetailReproducedAndFixed, ResultReproducedAndFixed,
			"The regression test failed on the base and passed on the candidate, and the whole suite passed on both.",
			"Nothing: the patch does what it claims.",
		},
		{
			DetailRegressionPassed, ResultNotReproduced,
			"The regression test passes without the fix.",
			"Make the test fail on the base: it does not show the bug.",
		},
		{
			DetailRegressionStillFail, ResultNotFixed,
			"The regression test still fails with the fix.",
			"Change the candidate; the command's outputTail says what failed.",
		},
		{
			DetailSuiteBroken, ResultRegressed,
			"The candidate passes the regression test and breaks the suite.",
			"Change the candidate so that the whole suite passes.",
		},
		{
			DetailBaseSuiteFailed, ResultInconclusive,
			"The suite already fails on the base, so nothing can be told from it.",
			"Choose a base whose own suite passes, or mend the suite first.",
		},
		{
			DetailCommandInconclusive, ResultInconclusive,
			"A test command gave no result that can be relied on: it timed out, was killed, left no valid report, or its exit status and report disagree.",
			"Read the command's problem and outputTail; a test runner that writes no JUnit report, or a limit that is too short, are the usual causes.",
		},
		{
			DetailFewerTests, ResultInconclusive,
			"The candidate executes fewer tests than the tree it is compared with.",
			"Keep every test of the base and of the regression test in the candidate, none of them skipped.",
		},
		{
			DetailTestMissing, ResultInconclusive,
			"A test that passed on the base, or a regression test, is not in the candidate's report.",
			"Keep every test under its name. The command's comparison names the tests; names that change from run to run, such as those with a date, cannot be compared.",
		},
		{
			DetailTestSkipped, ResultInconclusive,
			"A test that passed on the base is skipped, to do or an expected failure on the candidate.",
			"Let the test run: a skipped test is not a pass. The command's comparison names the tests.",
		},
		{
			DetailRegressionSkipped, ResultInconclusive,
			"A regression test is skipped, to do or an expected failure on the candidate.",
			"Let it run: a skipped test is not a pass. The command's comparison names the tests.",
		},
		{
			DetailSentinelNotReported, ResultInconclusive,
			"Failing tests were planted in the candidate's VM, and its test report does not have all of them as failed.",
			"Treat the candidate as hostile: its code changes how tests run. If the repository's runner ignores a test file given to it by path, or stops at the first failure, change scripts.test.",
		},
		{
			DetailCopyNotPassed, ResultInconclusive,
			"The regression tests pass on the candidate, but copies of them under other names do not.",
			"If the tests depend on their own file's name (snapshots), give the run a target that does not; otherwise treat the candidate as hostile.",
		},
		{
			DetailWorkspaceTampered, ResultInconclusive,
			"Code that ran in the candidate's VM changed or removed a test file or runner configuration on disk.",
			"If the repository's own tests or install scripts write the file that subject names, let them write elsewhere; otherwise treat the candidate as hostile.",
		},
		{
			DetailEvidenceIncomplete, ResultInconclusive,
			"The record of the execution lacks a part, or is of other commits than were asked for.",
			"Create the run again; if it comes back, read the node agent's log.",
		},
	}},
	{"Admission", []Entry{
		{
			DetailUnknownProfile, ResultNotAdmitted,
			"The ZTProfile the run names does not exist.",
			"Name one that `kubectl get ztprofiles` lists, or create it.",
		},
		{
			DetailUnknownPolicy, ResultNotAdmitted,
			"The ProxyPolicy that the run or its profile names does not exist.",
			"Name one that `kubectl get proxypolicies` lists, or create it.",
		},
		{
			DetailPolicyInvalid, ResultNotAdmitted,
			"The ProxyPolicy is not valid.",
			"Read its Valid condition with `kubectl describe proxypolicy` and mend the field it names.",
		},
		{
			DetailNoCapableNode, ResultNotAdmitted,
			"No node baked the profile within the profile's placementSeconds.",
			"Read status.nodes of the ZTProfile: each node says what it lacks. Without any entry, no node agent runs on a node that the profile selects.",
		},
		{
			DetailCapacityTimedOut, ResultNotAdmitted,
			"Nodes can run the profile, but none had room within placementSeconds.",
			"Wait for other runs, add nodes, or raise limits.placementSeconds of the profile.",
		},
		{
			DetailCABundleMissing, ResultNotAdmitted,
			"The ConfigMap with the registries' CA certificates, which the profile names, is missing or has no such key.",
			"Create it in the operator's namespace, or take proxy.caBundle out of the profile.",
		},
		{
			DetailNetworkPolicyNotEnforced, ResultNotAdmitted,
			"The cluster was not seen to enforce NetworkPolicies: the operator's probe pods could connect where a policy denies it, or the probe could not be made.",
			"Install a network plugin that enforces ingress and egress policies, such as Calico, Cilium or kube-router; read the profile's NetworkPolicyEnforced condition for what was seen.",
		},
	}},
	{"Source", []Entry{
		{
			DetailBundleMissing, ResultInvalidSource,
			"The ConfigMap or the key with the git bundle is missing.",
			"Create the ConfigMap in the run's namespace, with the bundle in binaryData, and create the run again; `kubectl zt run` does both.",
		},
		{
			DetailBundleInvalid, ResultInvalidSource,
			"The bytes are not a complete git bundle.",
			"Make it with `git bundle create FILE COMMITS...`, without a base that it would require, and check it with `git bundle verify`.",
		},
		{
			DetailBundleTooLarge, ResultInvalidSource,
			"The bundle, or what it unpacks to, is over the limit.",
			"Bundle only the commits of the proof, from a shallow clone if the history is long.",
		},
		{
			DetailCommitNotInBundle, ResultInvalidSource,
			"A commit of the proof is not in the bundle, or its id is not a commit's.",
			"Bundle all three commits; give full commit ids, not those of tags or trees.",
		},
		{
			DetailTreeUnsupported, ResultInvalidSource,
			"A tree has what cannot be run: a submodule, a path that is not safe, or too many files or bytes.",
			"Take out what subject names.",
		},
		{
			DetailTargetMissing, ResultInvalidSource,
			"A target is not a file of the regressionTest or candidate tree.",
			"Give the paths of the regression test's files relative to the repository's root.",
		},
		{
			DetailTargetUnsupported, ResultInvalidSource,
			"No target is a test file in a language in which the report of its run can be checked.",
			"Name at least one regression test in JavaScript, TypeScript or Python.",
		},
		{
			DetailProtectedPathChanged, ResultInvalidSource,
			"The candidate changes what judges it: a test file of the regressionTest tree, the runner's configuration, or a field of package.json such as scripts.",
			"Take the change of what subject names out of the candidate, or put it into the base and the regressionTest commits too. New test files, and changed dependencies, are fine.",
		},
	}},
	{"Ecosystem", []Entry{
		{
			DetailNoEcosystem, ResultUnsupportedEnvironment,
			"No supported package manager's files are in the root of the tree.",
			"Add package.json and package-lock.json, or a requirements.txt with hashes, or pyproject.toml and uv.lock, to the root of the repository.",
		},
		{
			DetailAmbiguousManager, ResultUnsupportedEnvironment,
			"Files of more than one package manager are in the root.",
			"Keep the files of one manager.",
		},
		{
			DetailUnsupportedManager, ResultUnsupportedEnvironment,
			"The repository uses a package manager that is not supported.",
			"Use npm with a package-lock.json, pip with a requirements.txt with hashes, or uv with a uv.lock.",
		},
		{
			DetailUnsupportedConfig, ResultUnsupportedEnvironment,
			"A tool configuration or option in the repository could redirect what is fetched.",
			"Remove the file, key or option that subject names.",
		},
		{
			DetailMissingManifest, ResultUnsupportedEnvironment,
			"The lockfile has no manifest beside it.",
			"Add the manifest that subject names.",
		},
		{
			DetailInvalidManifest, ResultUnsupportedEnvironment,
			"The manifest cannot be read, or is beyond its limits.",
			"Mend the file or field that subject names.",
		},
		{
			DetailMissingLockfile, ResultUnsupportedEnvironment,
			"The manifest has no lockfile beside it.",
			"Run the package manager's lock command and commit the lockfile.",
		},
		{
			DetailInvalidLockfile, ResultUnsupportedEnvironment,
			"The lockfile cannot be read, contradicts itself or the manifest, or is beyond its limits.",
			"Make the lockfile anew with the package manager and commit it.",
		},
		{
			DetailUnsupportedLockfile, ResultUnsupportedEnvironment,
			"The lockfile has a version that is not supported.",
			"Make it anew with a current package manager: npm writes lockfileVersion 3, uv writes version 1.",
		},
		{
			DetailUnsupportedDependency, ResultUnsupportedEnvironment,
			"A dependency is not fetched from the public registry: git, URL, path, link or workspace.",
			"Replace the dependency that subject names by a published version.",
		},
		{
			DetailMissingHash, ResultUnsupportedEnvironment,
			"A locked package has no digest of the required kind.",
			"Make the lockfile anew so that each package has its digests: for npm its sha512 integrity and resolved URL, for pip and uv the sha256 of each file.",
		},
		{
			DetailLockConflict, ResultUnsupportedEnvironment,
			"The lockfile has different digests for one and the same file.",
			"Make the lockfile anew with the package manager and commit it.",
		},
		{
			DetailUnpinnedRequirement, ResultUnsupportedEnvironment,
			"A line of requirements.txt does not pin one version.",
			"Write name==version, without wildcards, and its hashes; `pip-compile --generate-hashes` and `uv pip compile --generate-hashes` do.",
		},
		{
			DetailUnsupportedMarker, ResultUnsupportedEnvironment,
			"An environment marker cannot be judged before the VM exists: it is not valid, or asks for what no image fixes, such as the kernel's release.",
			"Write the requirement that subject names with python_version, sys_platform, platform_machine or their like, or without a marker.",
		},
		{
			DetailBinaryUnavailable, ResultUnsupportedEnvironment,
			"A locked package has no wheel for the selected runtime; a source distribution would run its build while the mirror is in reach.",
			"Lock a version with wheels for CPython on Linux x86_64, or a pure Python one.",
		},
		{
			DetailProjectBuildRequired, ResultUnsupportedEnvironment,
			"The uv project installs itself, so its build backend would run while the mirror is in reach.",
			"Set package = false in [tool.uv] and lock again; pytest's pythonpath setting makes the sources importable.",
		},
		{
			DetailNoTestRunner, ResultUnsupportedEnvironment,
			"The repository declares no test command, or one whose runner cannot be asked for a report.",
			"For npm, let scripts.test end with `node --test`, or with jest, mocha or vitest locked and called such that arguments reach it; for pip and uv, lock pytest.",
		},
		{
			DetailRuntimeUnspecified, ResultUnsupportedEnvironment,
			"The repository does not say which runtime it needs.",
			"Declare it: engines.node in package.json, .nvmrc or .node-version; requires-python in pyproject.toml, or .python-version.",
		},
		{
			DetailRuntimeDeclaration, ResultUnsupportedEnvironment,
			"A declaration of the runtime cannot be understood.",
			"Mend the declaration that subject names.",
		},
		{
			DetailRuntimeUnsupported, ResultUnsupportedEnvironment,
			"No runtime of the profile satisfies the declarations.",
			"Widen the declaration, or add a runtime to the profile.",
		},
		{
			DetailRuntimeConflict, ResultUnsupportedEnvironment,
			"The repository's declarations of the runtime exclude each other.",
			"Make the declarations that subject names agree.",
		},
		{
			DetailManagerUnsupported, ResultUnsupportedEnvironment,
			"No runtime of the profile carries the package manager version that is asked for.",
			"Widen the declaration, or add a runtime to the profile.",
		},
		{
			DetailEcosystemNotOffered, ResultUnsupportedEnvironment,
			"The profile has no package mirror for the ecosystem.",
			"Add a mirror for it to the profile.",
		},
		{
			DetailProfileNotBaked, ResultUnsupportedEnvironment,
			"The repository asks for a runtime that exists, but the profile does not carry it or the node has not baked it.",
			"Add the runtime that the message names to the profile's runtimes and wait until the profile is Ready, or widen the repository's declaration.",
		},
		{
			DetailRecordMismatch, ResultUnsupportedEnvironment,
			"An attempt came to another runtime than the run's first one, or the profile's runtime is no longer what was recorded in status.runtime.",
			"Create the run again: a run is proven under one runtime only. The message names what differs.",
		},
		{
			DetailRecordMissing, ResultExecutionFailed,
			"The node agent was told to go on before the run's runtime was recorded.",
			"Check that operator and node agent are of one release, then create the run again.",
		},
	}},
	{"Provisioning", []Entry{
		{
			DetailProxyNotReady, ResultProvisioningFailed,
			"The package mirror or Squid did not become ready in time.",
			"The message names the container and its state: mend that, most often an image that cannot be pulled or a full node.",
		},
		{
			DetailInstallFailed, ResultProvisioningFailed,
			"The package manager could not install the locked dependencies.",
			"Read the install command's outputTail. What the profile or the cluster lacks can be mended here; a package that is gone, or that has no wheel for the runtime, needs another lockfile and so another run.",
		},
		{
			DetailArtifactHashMismatch, ResultProvisioningFailed,
			"The package manager refused a file: its bytes have another digest than the lockfile names.",
			"Do not retry. Compare the lockfile's digest of the file that subject or the command's outputTail names with the registry's; if the lockfile is wrong, make it anew, else report it to the registry.",
		},
		{
			DetailProxyEnded, ResultProvisioningFailed,
			"The package mirror or Squid ended while the run needed it, in two attempts one after the other.",
			"The message has the container and its exit status. If nobody deleted the pod or drained its node, report it.",
		},
		{
			DetailProxyOutOfMemory, ResultProvisioningFailed,
			"The package mirror or Squid was ended for want of memory: its own limit's, or the node's.",
			"If the node was short of memory, free some. Otherwise raise memoryMiB of the profile's mirror or Squid.",
		},
		{
			DetailProxyDiskFull, ResultProvisioningFailed,
			"The package mirror or Squid was ended because its volume or the node's disk was full.",
			"If the node's disk was full, free some. Otherwise raise cacheMiB of the profile's mirror.",
		},
		{
			DetailRegistryFailed, ResultProvisioningFailed,
			"The installation failed, and Squid got no usable answer from a registry, in a way that has no reason of its own.",
			"Read status.egress and the install command's outputTail; check DNS, the way out and the certificates that the profile's proxy.caBundle names.",
		},
		{
			DetailRegistryNameFailed, ResultProvisioningFailed,
			"The installation failed, and the name of a registry could not be resolved: no DNS server answered, or it has no address.",
			"Check the cluster's DNS, and that other NetworkPolicies of the run namespace let Squid reach it.",
		},
		{
			DetailRegistryUnreachable, ResultProvisioningFailed,
			"The installation failed, and no connection to a registry could be made.",
			"Check that pods of the run namespace may reach the registry's port 443, and that the registry is up.",
		},
		{
			DetailRegistryTLSFailed, ResultProvisioningFailed,
			"The installation failed, and what answered at a registry's address did not speak TLS 1.2 or later.",
			"Find out what answers on port 443: a captive portal or a proxy on the way are the usual causes.",
		},
		{
			DetailCertificateUntrusted, ResultProvisioningFailed,
			"The installation failed, and a registry's certificate was not one that Squid trusts: signed by an unknown CA, or not valid at this time.",
			"Behind a proxy that inspects TLS, put its CA into the profile's proxy.caBundle; otherwise treat it as an attack. Check the nodes' clocks.",
		},
		{
			DetailRegistryTimedOut, ResultProvisioningFailed,
			"The installation failed, and a registry was silent for two minutes.",
			"Find out what makes the registry slow, or wait until it answers.",
		},
		{
			DetailRegistryReplyBroken, ResultProvisioningFailed,
			"The installation failed, and the connection to a registry broke before its reply was whole.",
			"If it comes back, look for what limits the size or the time of downloads on the way.",
		},
		{
			DetailRegistryError, ResultProvisioningFailed,
			"The installation failed, and a registry answered that it could not serve: a status of 500 or above, or 429.",
			"Read the registry's status page, and wait until it serves again.",
		},
		{
			DetailRequestDenied, ResultProvisioningFailed,
			"The installation failed, and the policy had denied a request of the mirror.",
			"Read the rules in status.egress; lock packages that the policy admits. The policy is not to be widened for one run.",
		},
		{
			DetailInstallTimedOut, ResultProvisioningFailed,
			"Installing the dependencies took longer than provisioningSeconds.",
			"Raise limits.provisioningSeconds of the profile, unless the run's own limits are what binds, or find out what makes the registries slow.",
		},
	}},
	{"Execution", []Entry{
		{
			DetailRebuildFailed, ResultExecutionFailed,
			"Install scripts failed without a network.",
			"Read the command's outputTail; packages that download in their install scripts are not supported.",
		},
		{
			DetailNetworkPresent, ResultExecutionFailed,
			"A VM had a network device in verification; nothing was run in it.",
			"Treat it as an incident and read the node agent's log.",
		},
		{
			DetailVMBootFailed, ResultExecutionFailed,
			"A VM did not start or its guest did not say hello, in two attempts.",
			"Read the message for what QEMU said, and check the profile's guest image and the node's load.",
		},
		{
			DetailVMPhaseChangeFailed, ResultExecutionFailed,
			"A VM did not power off for its phase switch or did not come back from it, in two attempts.",
			"Create the run again; if it comes back, read the node agent's log.",
		},
		{
			DetailVMLost, ResultExecutionFailed,
			"A VM ended while a command ran, in two attempts.",
			"Read how QEMU ended in the message. Killed: check the node for an OOM kill and raise vm.memoryMiB of the profile if there was one. By itself: the code under test may have brought its kernel down.",
		},
		{
			DetailBrokerTainted, ResultExecutionFailed,
			"A guest broke the broker's protocol; its VM was destroyed.",
			"Treat the repository as hostile.",
		},
		{
			DetailVMPodFailed, ResultExecutionFailed,
			"The vm pod failed or was deleted.",
			"Read the pod's events; evictions and node drains are the usual causes.",
		},
		{
			DetailRunTimedOut, ResultExecutionFailed,
			"The run took longer than runSeconds.",
			"Raise limits.runSeconds of the profile, or run fewer tests.",
		},
		{
			DetailExecutionInterrupted, ResultExecutionFailed,
			"The attempt was interrupted, and no attempt is left.",
			"Create the run again when the node is stable.",
		},
		{
			DetailNodeError, ResultExecutionFailed,
			"The node failed the run.",
			"Read the message and the node agent's log.",
		},
	}},
	{"Audit", []Entry{
		{
			DetailEgressViolation, ResultExecutionFailed,
			"Squid let out a request that the policy does not admit, or logged a line that cannot be read.",
			"Treat it as an incident: status.egress.audit says which requests; keep the Squid image's digest and report it.",
		},
		{
			DetailCacheAuditFailed, ResultExecutionFailed,
			"The mirror held a package file that no lockfile of the run names, or with other bytes.",
			"Treat it as an incident: status.execution.cacheAudit.findings names the files; compare them with the registry's.",
		},
		{
			DetailCacheAuditMissing, ResultInconclusive,
			"The mirror's cache could not be checked after every tree's provisioning.",
			"Read status.execution.cacheAudit.problem; create the run again.",
		},
	}},
	{"Nodes and profiles", []Entry{
		{
			DetailUnsupportedArch, ResultUnsupportedEnvironment,
			"The node is not x86_64.",
			"Keep the node agent off such nodes with nodeAgent.nodeSelector.",
		},
		{
			DetailQEMUMissing, ResultUnsupportedEnvironment,
			"qemu-system-x86_64 is not in the node agent's image.",
			"Use the project's node agent image.",
		},
		{
			DetailQEMUImgMissing, ResultUnsupportedEnvironment,
			"qemu-img is not in the node agent's image.",
			"Use the project's node agent image.",
		},
		{
			DetailExt4ToolMissing, ResultUnsupportedEnvironment,
			"mkfs.ext4 is not in the node agent's image.",
			"Use the project's node agent image.",
		},
		{
			DetailGitMissing, ResultUnsupportedEnvironment,
			"git is not in the node agent's image.",
			"Use the project's node agent image.",
		},
		{
			DetailKVMUnavailable, ResultUnsupportedEnvironment,
			"The profile demands KVM, and no guest could be booted under it on this node.",
			"Enable KVM on the node, or set vm.accelerator to Auto or TCG.",
		},
		{
			DetailProfileImageMissing, ResultUnsupportedEnvironment,
			"An image of the profile cannot be had or is not baked on this node.",
			"Check the reference, and that the node reaches the registry.",
		},
		{
			DetailProfileImageMismatch, ResultUnsupportedEnvironment,
			"A baked file is not what its manifest says.",
			"Find out who writes to the node agent's state directory, then delete the images there; the agent bakes them again.",
		},
		{
			DetailProfileImageUntrusted, ResultUnsupportedEnvironment,
			"A baked file is not a regular file of the node agent's own, or others can write to it.",
			"Find out who writes to the node agent's state directory, then delete the images there; the agent bakes them again.",
		},
		{
			DetailProfileImageUnpackable, ResultUnsupportedEnvironment,
			"An image of the profile cannot be unpacked safely.",
			"Build the image without what the message names.",
		},
		{
			DetailBakeFailed, ResultUnsupportedEnvironment,
			"Baking the profile failed on this node.",
			"Read the message; a full disk is the usual cause. The agent tries again every minute.",
		},
	}},
	{"Policies", []Entry{
		{
			DetailPolicyPatternInvalid, ResultNotAdmitted,
			"A path pattern of the ProxyPolicy cannot be used.",
			"Mend the pattern that the Valid condition names.",
		},
		{
			DetailPolicyWidensCeiling, ResultNotAdmitted,
			"The ProxyPolicy admits more than the built-in ceiling.",
			"Take out the field that the Valid condition names.",
		},
		{
			DetailPolicyDestinationFormat, ResultNotAdmitted,
			"A forbidden destination of the ProxyPolicy is not an address range.",
			"Write it in CIDR notation, such as 203.0.113.0/24.",
		},
	}},
}

// Explain returns the catalogue's entry of a code; false if it has none, which is
// so for the codes of progress.
func Explain(detail Detail) (Entry, bool) {
	for _, section := range Catalogue {
		for _, entry := range section.Entries {
			if entry.Detail == detail {
				return entry, true
			}
		}
	}
	return Entry{}, false
}

// Pauses reports whether a code makes a run wait for people to follow its remedy and
// resume it, instead of ending it. Only failures of provisioning do, which say nothing
// of the repository. A refusal never does, nor other bytes than were locked: the same
// source under the same policy would be answered the same, and neither changes for one
// run.
func (d Detail) Pauses() bool {
	switch d {
	case DetailProxyNotReady, DetailProxyEnded, DetailProxyOutOfMemory, DetailProxyDiskFull,
		DetailInstallFailed, DetailInstallTimedOut,
		DetailRegistryFailed, DetailRegistryNameFailed, DetailRegistryUnreachable, DetailRegistryTLSFailed,
		DetailCertificateUntrusted, DetailRegistryTimedOut, DetailRegistryReplyBroken, DetailRegistryError:
		return true
	}
	return false
}

// Interrupts reports whether an attempt that ended with this code is made again by
// itself, once in a row: a VM that failed under a tree says nothing about the tree.
func (d Detail) Interrupts() bool {
	switch d {
	case DetailExecutionInterrupted, DetailVMLost, DetailVMBootFailed, DetailVMPhaseChangeFailed:
		return true
	}
	return false
}

// ResultOf returns the class of outcome that a code belongs to. A code outside the
// catalogue is a failure of ours, never a verdict.
func ResultOf(detail Detail) Result {
	if entry, ok := Explain(detail); ok {
		return entry.Result
	}
	return ResultExecutionFailed
}
