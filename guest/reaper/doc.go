// Package reaper waits for processes on behalf of PID 1: for those that the agent
// started, whose ends it reports, and for orphans, which it forgets.
//
// It waits for any child, so nothing else in the process may wait: os/exec must
// not be used beside it.
package reaper
