package runtimes

// Target is what a declaration constrains.
type Target string

// The targets: the interpreter, or the package manager.
const (
	Interpreter Target = "interpreter"
	Manager     Target = "manager"
)

// Syntax is how a declaration's value is written.
type Syntax string

const (
	// NPMRange is a node-semver range, as in engines.node.
	NPMRange Syntax = "npm-range"
	// NodeVersion is a version file's content: X, X.Y or X.Y.Z with an optional v,
	// or the code name of a long-term line.
	NodeVersion Syntax = "node-version"
	// PEP440 is a version specifier of Python, as in requires-python.
	PEP440 Syntax = "pep440"
	// PythonVersion is a version file's content: X, X.Y or X.Y.Z.
	PythonVersion Syntax = "python-version"
	// ExactVersion is X.Y.Z.
	ExactVersion Syntax = "exact"
)

// Declaration is one statement of the repository about what it needs.
type Declaration struct {
	// Source names the file, or file and field, for people: package.json engines.node
	// is "engines.node", a version file is its name.
	Source string
	// Target of the constraint.
	Target Target
	// Syntax of Value.
	Syntax Syntax
	// Value as declared; untrusted, bounded by the file it came from.
	Value string
}
