// Package doctor holds the doctor command: it tries every server of a configuration and explains failures.
//
// What doctor knows about failures is the table in knowledge.go.
package doctor
