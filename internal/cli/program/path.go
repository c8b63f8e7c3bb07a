package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Path returns the absolute path by which the user ran this program. It keeps symbolic links, because an update may
// change their targets. If that path cannot be found, Path returns os.Executable, which may have resolved them.
func Path() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if called, err := exec.LookPath(os.Args[0]); err == nil {
		if called, err = filepath.Abs(called); err == nil && SameFile(called, executable) {
			return called, nil
		}
	}
	return executable, nil
}

// SameFile reports whether both paths name the same existing file.
func SameFile(a, b string) bool {
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(first, second)
}
