#!/usr/bin/env bash
# tools.sh [NAME…]: builds the tools that the scripts use from their Go modules, once per version. Without names: all.
. "$(dirname "$0")/lib.sh"

# go_tool NAME VERSION PACKAGE
go_tool() {
	local name=$1 version=$2 package=$3 dir
	dir=$(tool_dir "$name" "$version")
	[[ ! -x $dir/$name ]] || return 0
	step "build $name $version" install_module "$dir" "$package@$version"
}

# Installed beside its final place and moved there, so that an interrupted build is never taken for a tool.
install_module() {
	rm -rf "$1.part"
	GOBIN=$1.part go install -ldflags '-s -w' "$2"
	mkdir -p "${1%/*}"
	rm -rf "$1"
	mv "$1.part" "$1"
}

# One binary for all of Kubernetes and etcd (hack/kube); each component is a link to it.
kubernetes() {
	[[ -x $KUBE_DIR/hyperkube ]] || step "build Kubernetes $KUBE_VERSION (about 10 minutes on 2 cores)" build_hyperkube
	local name
	for name in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
		[[ -e $KUBE_DIR/$name ]] || ln -s hyperkube "$KUBE_DIR/$name"
	done
}

build_hyperkube() {
	mkdir -p "$KUBE_DIR"
	# Without these two the components call themselves v0.0.0-master, and Helm's version checks misjudge them.
	local flags="-s -w" package
	for package in component-base/version client-go/pkg/version; do flags+=" -X k8s.io/$package.gitVersion=$KUBE_VERSION"; done
	(cd "$ROOT/hack/kube" && go build -buildvcs=false -ldflags "$flags" -o "$KUBE_DIR/hyperkube.part" .)
	mv "$KUBE_DIR/hyperkube.part" "$KUBE_DIR/hyperkube"
}

# A Python environment of its own: the machine's is left as it is.
python_tools() {
	local dir
	dir=$(python_tools_dir)
	[[ ! -x $dir/bin/uv ]] || return 0
	step "install uv $UV_VERSION and pytest $PYTEST_VERSION" install_python_tools "$dir"
}

install_python_tools() {
	rm -rf "$1"
	mkdir -p "${1%/*}"
	python3 -m venv "$1"
	# Last, because its presence says that all is installed.
	"$1/bin/python" -m pip install -q --disable-pip-version-check "pytest==$PYTEST_VERSION"
	"$1/bin/python" -m pip install -q --disable-pip-version-check "uv==$UV_VERSION"
}

build() {
	case $1 in
	python-tools) python_tools ;;
	kubernetes) kubernetes ;;
	helm) go_tool helm "$HELM_VERSION" helm.sh/helm/v4/cmd/helm ;;
	crane) go_tool crane "$CRANE_VERSION" github.com/google/go-containerregistry/cmd/crane ;;
	kube-router) go_tool kube-router "$KUBE_ROUTER_VERSION" github.com/cloudnativelabs/kube-router/v2/cmd/kube-router ;;
	coredns) go_tool coredns "$COREDNS_VERSION" github.com/coredns/coredns ;;
	golangci-lint) go_tool golangci-lint "$GOLANGCI_LINT_VERSION" github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
	*) die "unknown tool $1" ;;
	esac
}

[[ $# -gt 0 ]] || set -- crane kubernetes helm kube-router coredns golangci-lint python-tools
for name in "$@"; do build "$name"; done
