//go:build !unix

package main

// onHangup does nothing: there is no SIGHUP here; the file is watched.
func onHangup(func()) func() { return func() {} }
