// Package plot draws the few charts that reports need, as SVG: lines over a doubling number of clients, and bars.
//
// A chart is data; SVG returns the same bytes for the same chart, so that a committed picture changes only with its numbers.
// Text is escaped and left to the viewer's own fonts. What cannot be drawn (no number, infinite, nothing above zero on an axis of powers)
// is left out, and a chart of nothing says so.
//
//	os.WriteFile("rate.svg", plot.Lines{Title: "calls/s", X: "clients", Lines: lines}.SVG(), 0o644)
package plot
