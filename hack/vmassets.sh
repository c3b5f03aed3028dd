# shellcheck shell=bash
# Sourced by what boots VMs outside a cluster: builds the images a VM boots from and exports ZT_VM_KERNEL, ZT_VM_INITRD
# and ZT_VM_ROOT.

vm_assets() {
	"$ROOT/hack/images/build.sh" guest worker-node-22
	step "bake the VM's files" bake_vm_assets
	# shellcheck disable=SC1091
	. "$CACHE/vm/env"
}

bake_vm_assets() {
	mkdir -p "$CACHE/vm/store"
	(cd "$ROOT" && go run ./hack/vmassets -images "$CACHE/images" -store "$CACHE/vm/store") >"$CACHE/vm/env.part"
	mv "$CACHE/vm/env.part" "$CACHE/vm/env"
}

vm_assets
