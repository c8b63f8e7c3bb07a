// Package plot draws the charts of reports as SVG: line charts with a logarithmic X axis, and bar charts.
//
// SVG returns the same bytes for the same chart, so that a committed picture changes only if its numbers do. Text is
// escaped and uses the viewer's fonts. Values that cannot be drawn (such as NaN, infinities, and zero on a logarithmic
// axis) are omitted. A chart without values says that there is nothing to draw.
//
//	os.WriteFile("rate.svg", plot.Lines{Title: "calls/s", X: "clients", Lines: lines}.SVG(), 0o644)
package plot
