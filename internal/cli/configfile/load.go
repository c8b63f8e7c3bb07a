package configfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/serving"
)

// Absolute is the path as others see it, wherever they work.
func Absolute(path string) string {
	if whole, err := filepath.Abs(path); path != "" && err == nil {
		return whole
	}
	return path
}

// PrintFindings prints faults and warnings, each with its hint right below.
func PrintFindings(w io.Writer, report config.Report) {
	p := terminal.PaletteFor(w)
	tell := func(word string, findings []*config.Finding) {
		for _, f := range findings {
			fmt.Fprintf(w, "%s %s\n", word, terminal.Clean(f.Error()))
			for line := range strings.Lines(program.Hint(f.Hint)) {
				fmt.Fprintf(w, "%s %s\n", p.Good("hint:"), terminal.Clean(strings.TrimRight(line, "\n")))
			}
		}
	}
	tell(p.Bad("error:"), report.Faults)
	tell(p.Warn("warning:"), report.Warnings)
}

// Load reads the configuration that the flag or the search order names; nil when there is none.
// Warnings and faults go to w; with faults the error has exit code 3.
func Load(flag string, w io.Writer) (*config.Config, error) {
	path, ok := config.Find(flag, os.Getenv)
	if !ok {
		return nil, nil
	}
	cfg, report := config.Load(path)
	PrintFindings(w, report)
	if cfg == nil {
		return nil, &command.Error{Code: command.ExitConfig} // all has been said
	}
	return cfg, nil
}

const FlagHelp = "configuration file (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)"

// CredentialsError gives an error of a key file or certificate its exit code and hint.
func CredentialsError(err error) error {
	if e, ok := errors.AsType[*serving.CredentialError](err); ok {
		return command.Fail(command.ExitConfig, e, e.Hint())
	}
	return err
}
