// Package doctor holds the doctor command: it tries every server of a configuration and explains failures.
//
// The table in knowledge.go lists the failures that doctor can explain.
package doctor
