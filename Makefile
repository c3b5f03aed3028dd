# Targets for people. What they do stands in hack/; `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.PHONY: help demo demo-down test test-unit test-fixtures test-envtest test-vm test-proxy proxy-check test-cluster proof bench generate verify lint \
	build images cluster-up cluster-down cluster-shell tools clean

# existing: use the current kubeconfig and push images to REGISTRY; otherwise a cluster of our own on this machine.
CLUSTER ?= dev
REGISTRY ?=
export CLUSTER REGISTRY

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2} /^##@/ {print "\n" substr($$0, 5)}' $(MAKEFILE_LIST)

##@ See it work
demo: ## from nothing to a verdict: cluster, images, chart, one run (CLUSTER=existing REGISTRY=… uses your cluster)
	@hack/demo/demo.sh

demo-down: ## end the demo and remove what it made outside the cache
	@if [[ -x hack/demo/down.sh ]]; then hack/demo/down.sh; fi
	@if [[ $(CLUSTER) != existing ]]; then hack/cluster/down.sh; fi

##@ Test
test: ## everything: verify, unit, fixtures, envtest, VM, proxy and cluster tests
	@hack/test.sh '&vm' verify unit fixtures envtest proxy / cluster

test-unit: ## unit tests
	@hack/test.sh unit

test-envtest: ## against a real API server and etcd
	@hack/test.sh envtest

test-vm: ## real VMs under QEMU
	@hack/test.sh vm

test-proxy: ## the rendered policy in a real Squid
	@hack/test.sh proxy

proxy-check: ## every row of the policy through the real Squid, into out/proxy/verdicts.json
	@hack/proxy-check.sh

test-cluster: ## a real run on a real cluster
	@hack/test.sh cluster

test-fixtures: ## the fixtures on this machine, without a VM
	@hack/test.sh fixtures

proof: ## the acceptance criteria, in VMs and on a real cluster, into out/proof
	@hack/proof.sh

bench: ## measure VMs, proxy, whole proofs and lockfiles into out/bench (docs/benchmarks.md)
	@hack/bench.sh

##@ Develop
build: ## the project's commands, into out/bin
	@hack/build.sh

generate: ## deep copies, CRDs, kustomize bases and reference pages, all that is generated
	@hack/generate.sh

verify: ## generated files are fresh, code is formatted and clean of lint
	@hack/verify.sh

lint: ## linters only
	@hack/verify.sh lint

images: ## container images, into the cache
	@hack/images/build.sh

tools: ## Debian packages and pinned tools, into the cache
	@hack/deps.sh && hack/tools.sh

cluster-up: ## start the development cluster; prints its kubeconfig
	@hack/cluster/up.sh

cluster-down: ## end the development cluster and remove what it made
	@hack/cluster/down.sh

cluster-shell: ## a shell inside the development cluster's namespaces
	@hack/cluster/shell.sh

clean: ## remove what was built in the tree (the cache stays)
	@rm -rf out
