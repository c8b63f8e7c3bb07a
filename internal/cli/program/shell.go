package program

import (
	"runtime"
	"strings"

	"goblin-actor/internal/config"
)

// shellPlain are the characters that no shell reads anything into.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// ShellWords writes words of a configuration so that the shell of the system takes them as the gateway does: variables
// stand for what they hold, all else as it is.
func ShellWords(words []string, system string) string {
	written := make([]string, len(words))
	for i, word := range words {
		refers := config.Refers(word)
		if !refers || system == "windows" {
			word = strings.ReplaceAll(word, "$$", "$")
		}
		switch {
		case refers && system != "windows":
			written[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$$", `\$`, "${", "${", "$", `\$`).Replace(word) + `"`
		case word != "" && strings.Trim(word, shellPlain) == "":
			written[i] = word
		case system == "windows":
			written[i] = `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
		default:
			written[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(written, " ")
}

// ShellPath is a path as the shell takes it.
func ShellPath(path string) string {
	return ShellWords([]string{strings.ReplaceAll(path, "$", "$$")}, runtime.GOOS)
}
