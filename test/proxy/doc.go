// Package proxy tests the package proxy as it runs: the real Squid, started by its
// image's entry point with a rendered configuration, between network namespaces
// that the tests make and remove. They need root and are built with the tag
// proxy; see netns_test.go for the topology.
//
// The mirrors and their clients are those of the images mirror-npm, mirror-pypi,
// worker-node-22 and worker-python-3.13, as hack/images/build.sh made them last, and
// the clients' commands are those of a run's plan. ZT_SQUID_ROOT names the root
// filesystem of a Squid image to test in place of the machine's own Squid.
package proxy
