//go:build !unix

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// hasModeBits is false: access control lists, not mode bits, control access to files.
const hasModeBits = false

// ownedByUser always returns true: file ownership is left to access control lists.
func ownedByUser(fs.FileInfo) bool { return true }

const sharingViolation = syscall.Errno(32)

// openLocked opens the file and prevents other processes from opening it for writing.
func openLocked(path string, flags int) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	how := uint32(syscall.OPEN_EXISTING)
	if flags&os.O_CREATE != 0 {
		how = syscall.CREATE_NEW
	}
	const share, access = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_DELETE, syscall.GENERIC_READ | syscall.GENERIC_WRITE
	handle, err := syscall.CreateFile(name, access, share, nil, how, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		if errors.Is(err, sharingViolation) {
			err = ErrInUse
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(handle), path)
	if _, err := f.Seek(0, 2); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
