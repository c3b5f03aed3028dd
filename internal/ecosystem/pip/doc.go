// Package pip detects Python projects whose dependencies are locked in a
// requirements.txt with hashes, and plans their commands.
//
// Supported is a file in which every line is name==version with SHA-256 hashes, read
// line by line exactly as pip reads it; the rest is refused by name.
package pip
