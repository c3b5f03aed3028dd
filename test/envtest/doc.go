// Package envtest walks runs through the operator against a real API server and
// etcd. There is no kubelet, scheduler, garbage collector or node agent: the test
// plays them, by the same writes they make.
//
// KUBEBUILDER_ASSETS must name a folder with etcd, kube-apiserver and kubectl.
package envtest
