package console

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// edit opens a file in the editor that $VISUAL or $EDITOR names, on this terminal, and waits for its end.
func edit(path string) error {
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	words := strings.Fields(cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), strings.TrimSpace(os.Getenv("EDITOR")), fallback))
	editor := exec.Command(words[0], append(words[1:], path)...)
	editor.Stdin, editor.Stdout, editor.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := editor.Run(); err != nil {
		return fmt.Errorf("%s: %w; set VISUAL or EDITOR to an editor that waits until the file is closed", words[0], err)
	}
	return nil
}
