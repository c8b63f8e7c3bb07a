//go:build !linux

package process

// tryWrite: elsewhere a pipe takes so little at once, or has no way to write without waiting, that it is not worth it.
func tryWrite(stdinPipe) func(p []byte) bool { return nil }
