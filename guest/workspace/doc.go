// Package workspace reads and writes single files below a folder whose content
// untrusted code chose.
//
// It never follows a symbolic link, never leaves the folder, never blocks on a
// FIFO and never reads more than it was told to.
package workspace
