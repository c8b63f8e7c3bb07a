//go:build !unix

package serving

// onHangup does nothing: there is no SIGHUP here; the file is watched.
func onHangup(func()) func() { return func() {} }
