//go:build !unix

package serving

// onHangup does nothing, since this system has no SIGHUP. Changes of files are still noticed, because they are watched.
func onHangup(func()) func() { return func() {} }
