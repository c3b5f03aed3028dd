// Package forgery holds candidates that do not fix a bug against the engine that
// judges them: fixtures/forgeries, with the commands of the plan executed by the Node
// and the pytest of this machine in the place of a VM's.
package forgery
