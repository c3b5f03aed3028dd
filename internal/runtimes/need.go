package runtimes

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes/npmrange"
	"github.com/ai-dossier/zt-operator/internal/runtimes/pep440"
)

// need is a declaration that was understood.
type need struct {
	Declaration
	admits func(version) bool
	// exact is set for ExactVersion.
	exact *version
}

func readAll(declarations []Declaration) ([]need, error) {
	needs := make([]need, 0, len(declarations))
	for _, declaration := range declarations {
		n, err := read(declaration)
		if err != nil {
			return nil, refusal.New(v1alpha1.DetailRuntimeDeclaration, declaration.Source, err.Error())
		}
		needs = append(needs, n)
	}
	return needs, nil
}

func read(d Declaration) (need, error) {
	switch d.Syntax {
	case NPMRange:
		r, err := npmrange.Parse(d.Value)
		if err != nil {
			return need{}, fmt.Errorf("it is not a version range in npm's syntax, such as >=20 or ^20.9.0 || >=22")
		}
		return need{Declaration: d, admits: func(v version) bool { return r.Admits(v.npm()) }}, nil
	case NodeVersion:
		p, err := parseNodeVersion(d.Value)
		if err != nil {
			return need{}, fmt.Errorf("it does not name one Node version (X, X.Y, X.Y.Z or a long-term line such as lts/jod); names that move, such as lts/* and node, are not resolved")
		}
		return need{Declaration: d, admits: p.admits}, nil
	case PEP440:
		specifier, err := pep440.Parse(d.Value)
		if err != nil {
			return need{}, fmt.Errorf("it is not a version specifier of the supported subset: X[.Y[.Z]] with == != <= >= < > ~= and .*, joined by commas, such as >=3.11,<4")
		}
		return need{Declaration: d, admits: func(v version) bool { return specifier.Admits(pep440.Version(v)) }}, nil
	case PythonVersion:
		p, err := parsePythonVersion(d.Value)
		if err != nil {
			return need{}, fmt.Errorf("it does not name one CPython version (X, X.Y or X.Y.Z)")
		}
		return need{Declaration: d, admits: p.admits}, nil
	case ExactVersion:
		v, err := parseVersion(d.Value)
		if err != nil {
			return need{}, fmt.Errorf("it is not a version X.Y.Z")
		}
		return need{Declaration: d, admits: func(w version) bool { return v == w }, exact: &v}, nil
	}
	return need{}, fmt.Errorf("its syntax is not known to this version of the operator")
}

// satisfiedBy reports whether the candidate has what is needed, for certain: a
// manager of which the profile names the line only must fit at both ends of it.
func (n need) satisfiedBy(c candidate) bool {
	if n.Target == Interpreter {
		return n.admits(c.interpreter)
	}
	if n.exact != nil {
		return c.manager.admits(*n.exact)
	}
	return n.admits(c.manager.version) && n.admits(c.manager.highest())
}

// highest is the version that stands for the end of an open line.
func (p partial) highest() version {
	v := p.version
	for i := p.fixed; i < len(v); i++ {
		v[i] = 999_999_999
	}
	return v
}
