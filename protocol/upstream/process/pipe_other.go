//go:build !linux

package process

import "os"

// Pipes have the size this system gives them.
func widen(*os.File) bool { return false }

func narrowed() {}
