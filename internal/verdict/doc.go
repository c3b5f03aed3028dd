// Package verdict turns recorded evidence into answers, without I/O: Classify says
// what one command's exit status and report mean together, Judge what a whole
// execution proves.
//
// Judge takes the run's proof beside the node agent's record, because a record of
// other commits or other targets than were asked for proves nothing. It trusts no
// classification in the record: it derives each again from exit status and counts.
// The engine calls it after every command to stop early; the operator calls the
// same function to decide.
package verdict
