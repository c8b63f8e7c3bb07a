// Package doctor contains the doctor command, which tries every server of a configuration and explains failures.
//
// The table in knowledge.go lists the failures that doctor can explain.
package doctor
