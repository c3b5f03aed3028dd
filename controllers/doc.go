// Package controllers holds one package per reconciled kind: ztrun, ztprofile and
// proxypolicy. They read and write the Kubernetes API and nothing else; what a
// policy means, what a verdict is and how text is made safe lives in internal.
package controllers
