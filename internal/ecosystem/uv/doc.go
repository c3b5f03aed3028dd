// Package uv detects Python projects that uv locks, and plans their commands.
//
// Supported is a virtual project, which nothing builds, with a uv.lock of version 1
// whose every package comes from PyPI with a wheel and SHA-256 digests; the rest is
// refused by name.
package uv
