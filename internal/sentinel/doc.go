// Package sentinel makes the test files by which a candidate's own VM is asked
// whether its test reports can be believed.
//
// A twin is a copy of a regression test under a random file name, its tests under
// random titles where that can be done, with failing tests planted behind them. It
// runs like the regression test itself. A candidate whose code makes every test
// pass makes the planted ones pass too; a candidate whose code makes the known
// tests pass, by file or by title, does not make their copies pass.
//
// It is pure: randomness and the test's content come in.
package sentinel
