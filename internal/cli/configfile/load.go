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

// Absolute returns the absolute form of path. It returns path unchanged if path is empty or the working directory is
// unknown.
func Absolute(path string) string {
	if whole, err := filepath.Abs(path); path != "" && err == nil {
		return whole
	}
	return path
}

// PrintFindings prints errors and warnings, each with its hint below it.
func PrintFindings(w io.Writer, report config.Report) {
	p := terminal.PaletteFor(w)
	printAll := func(word string, findings []*config.Finding) {
		for _, f := range findings {
			fmt.Fprintf(w, "%s %s\n", word, terminal.Clean(f.Error()))
			for line := range strings.Lines(program.Hint(f.Hint)) {
				fmt.Fprintf(w, "%s %s\n", p.Good("hint:"), terminal.Clean(strings.TrimRight(line, "\n")))
			}
		}
	}
	printAll(p.Bad("error:"), report.Faults)
	printAll(p.Warn("warning:"), report.Warnings)
}

// Load reads the configuration file that flag names, or the one that config.Find finds. It returns nil if there is
// none. Findings are printed to w. If the configuration is invalid, the error has exit code 3.
func Load(flag string, w io.Writer) (*config.Config, error) {
	path, ok := config.Find(flag, os.Getenv)
	if !ok {
		return nil, nil
	}
	cfg, report := config.Load(path)
	PrintFindings(w, report)
	if cfg == nil {
		return nil, &command.Error{Code: command.ExitConfig} // the errors have been printed
	}
	return cfg, nil
}

// FlagHelp is the help of the --config flag.
const FlagHelp = "configuration file (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)"

// CredentialsError adds the exit code and the hint to an error about a key file or certificate. It returns other errors
// unchanged.
func CredentialsError(err error) error {
	if e, ok := errors.AsType[*serving.CredentialError](err); ok {
		return command.Fail(command.ExitConfig, e, e.Hint())
	}
	return err
}
