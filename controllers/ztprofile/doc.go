// Package ztprofile turns what node agents report of a ZTProfile into its
// condition and into the node labels that vm pods select on. The agents' own
// tokens can patch no Node; the operator believes a node only of itself.
package ztprofile
