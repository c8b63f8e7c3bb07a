// Package tui is the console: it shows on a terminal what a gateway is doing.
//
// It has five layers. Each depends only on those above it in this list:
//
//	Picture   the gateway's state at one moment and its recent past; immutable, created by the pump
//	render    Picture → columns and rows; pure, one file per kind (render_servers.go, …)
//	table     the rows on display: filter, order, tree, selection by row id, recent changes
//	view      a kind in a scope (a server, a session, a call), with a table for each of its panels
//	App       keys, prompt, hierarchy and history of views, side panel, and the screen's goroutine
//
// The screen's goroutine owns the App and all views and tables. The pump's goroutines share only the pump's own state; they
// pass Pictures to the App. All text from outside passes through plain or lines (text.go) before it becomes a cell, so that escape
// sequences, color tags and bidirectional controls are displayed, never interpreted.
//
//	err := tui.Run(ctx, source, tui.Options{})   // until the user quits or ctx ends
package tui
