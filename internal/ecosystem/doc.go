// Package ecosystem says which package manager a tree is for, and which commands
// provision and test it, from the files of the tree's root only.
//
// It is pure: it reads bytes it is given and returns data. A manager has its own
// package below this one; Detect and PlanFor are the two places that know them all.
// What is not exactly supported is refused with a *Refusal, never approximated.
package ecosystem
