//go:build !linux

package serve

// forgetProgram does nothing on this system.
func forgetProgram() {}
