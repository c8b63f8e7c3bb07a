//go:build !unix

package config

import (
	"io/fs"
	"os"
)

// hasOtherLinks returns false: hard links are not detected on this system.
func hasOtherLinks(fs.FileInfo) bool { return false }

// keepOwner does nothing here: a new file inherits its permissions from the directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
