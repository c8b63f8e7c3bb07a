//go:build !unix

package serving

// onHangup does nothing, since this system has no SIGHUP. The file is watched.
func onHangup(func()) func() { return func() {} }
