// Package report holds the results of measurements. It writes tables, report.json, report.md and plots, checks
// assertions, and compares reports.
//
// A report is data: nothing here starts a process or measures.
package report
