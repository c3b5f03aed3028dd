// Package model holds the words that detection and plans of every package manager
// share. Package ecosystem re-exports them; only the managers' packages under
// ecosystem import this one.
package model
