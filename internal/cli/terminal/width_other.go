//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package terminal

import "os"

// terminalColumns returns 0: the width is unknown on this system.
func terminalColumns(*os.File) int { return 0 }
