// Package tui is the console: what a gateway does, on a terminal.
//
// Five layers, each of which knows only the one before it:
//
//	Picture   what is known of the gateway at one moment; immutable, made by the pump
//	render    Picture → columns and rows; pure, one file a kind (render_servers.go, …)
//	table     rows as they are looked at: filter, order, selection by row id, what has changed
//	view      a kind narrowed to a server or a session, and its table
//	App       keys, prompt, crumbs, panels, and the goroutine of the screen
//
// The goroutine of the screen owns the App and everything below it; the pump owns nothing but its timer and hands over
// Pictures. Every text from outside goes through plain or lines (text.go) before it becomes a cell: escape sequences,
// colour tags and characters that reorder what is shown are seen, not obeyed.
//
//	err := tui.Run(ctx, source, tui.Options{})   // until the user quits or ctx ends
package tui
