// Package npmrange reads node-semver ranges, as engines.node and engines.npm hold
// them, and says which release versions they admit.
//
// It follows node-semver's strict grammar; two Go libraries were tried against the
// table in testdata and differed in hundreds of rows. It knows release versions
// only (X.Y.Z): interpreters of a profile have no other. Where it differs from
// node-semver, it refuses a malformed range that node-semver repairs; it never
// admits more.
package npmrange
