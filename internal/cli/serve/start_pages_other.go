//go:build !linux

package serve

// forgetProgram is for Linux only.
func forgetProgram() {}
