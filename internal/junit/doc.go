// Package junit reads counts and tests out of a test report that untrusted code may
// have written: JUnit XML, or jest's JSON.
//
// It trusts no count attribute: suites, tests, failures and skips are counted from
// the elements. Input is bounded in bytes, depth and elements; a document type or
// an entity beyond the five of XML is refused.
package junit
