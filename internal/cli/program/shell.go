package program

import (
	"runtime"
	"strings"

	"goblin-actor/internal/config"
)

// shellPlain contains the characters that words may contain without being quoted.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// ShellWords quotes words of a configuration for the shell of a system, so that the shell reads them as the gateway
// does: ${NAME} is expanded, and everything else is literal. For Windows, ${NAME} stays as written.
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

// ShellPath quotes a path for the shell of this system. The shell expands no variables in it.
func ShellPath(path string) string {
	return ShellWords([]string{strings.ReplaceAll(path, "$", "$$")}, runtime.GOOS)
}
