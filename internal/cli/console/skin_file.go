package console

import (
	"errors"
	"os"
	"path/filepath"

	"goblin-actor/internal/config"
	"goblin-actor/internal/visible"
	"goblin-actor/tui"
)

// skinFile is the file of a skin. It is not safe for concurrent use.
type skinFile struct {
	path string
	read fileState // when the skin was read
	last fileState // at the last call of reread
}

// fileState identifies a saved version of a file. It is zero if there is no regular file.
type fileState struct {
	modified int64 // nanoseconds since 1970
	size     int64
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return fileState{}
	}
	return fileState{info.ModTime().UnixNano(), info.Size()}
}

// reread returns the new skin if the file has been saved since the skin was read, or an error if the new skin is invalid. Otherwise it
// returns nil. It reads the file only once a call finds it unchanged since the previous call, because a program may still be writing it.
func (f *skinFile) reread() (map[string]tui.Paint, error) {
	now := stateOf(f.path)
	before := f.last
	if f.last = now; now != before || now == f.read || now == (fileState{}) {
		return nil, nil
	}
	f.read = now
	skin, report := config.LoadSkin(f.path, tui.Parts(), tui.Colors())
	if skin == nil {
		return nil, skinError(report)
	}
	paint := paints(skin)
	if err := tui.CheckSkin(paint); err != nil {
		return nil, err
	}
	return paint, nil
}

// skinError returns the first error in a skin, for one line.
func skinError(report config.Report) error {
	first := *report.Faults[0]
	first.File = filepath.Base(first.File)
	text := first.Error()
	if first.Hint != "" {
		text += "; " + first.Hint
	}
	return errors.New(visible.Text(text))
}
