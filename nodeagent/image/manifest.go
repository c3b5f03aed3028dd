package image

// File is one file of the store that a VM boots from.
type File struct {
	// Path of the file on the node.
	Path string `json:"-"`
	// SHA256 of the content, 64 hex digits; of a DiskBase, the sparse digest.
	SHA256 string `json:"sha256"`
	// Size in bytes.
	Size int64 `json:"size"`
}

// Manifest names everything the VMs of a profile boot from.
type Manifest struct {
	// Digest of the manifest's canonical form, sha256:….
	Digest string `json:"-"`
	// Kernel and Initrd are the guest's.
	Kernel File `json:"kernel"`
	Initrd File `json:"initrd"`
	// DiskBase is the empty file system behind every run disk, a sparse raw ext4.
	DiskBase File `json:"diskBase"`
	// Runtimes are the worker roots by the name of the runtime, erofs.
	Runtimes map[string]File `json:"runtimes"`
}
