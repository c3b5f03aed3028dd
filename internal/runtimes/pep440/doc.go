// Package pep440 reads version specifiers of Python: a deliberately narrow subset of
// PEP 440, X[.Y[.Z]] with == != <= >= < > ~= and .*, joined by commas.
//
// Anything else is an error, not an approximation. The versions it judges are
// releases, so what PEP 440 says of pre-releases never applies.
package pep440
