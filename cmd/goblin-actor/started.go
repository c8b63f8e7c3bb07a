package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"goblin-actor/internal/status"
)

var (
	commandLineOnce sync.Once
	commandLineForm *regexp.Regexp
)

// commandLine matches the beginning of a command line of this program in a hint.
func commandLine() *regexp.Regexp {
	commandLineOnce.Do(func() {
		var names []string
		for _, cmd := range newRoot().Commands() {
			names = append(names, regexp.QuoteMeta(cmd.Name()))
		}
		commandLineForm = regexp.MustCompile(`\bgoblin-actor (` + strings.Join(names, "|") + `)\b`)
	})
	return commandLineForm
}

// asStarted returns a hint with its command lines as the user can type them: with the program's name as it was started.
func asStarted(hint string) string { return namedAs(hint, programName()) }

func namedAs(hint, program string) string {
	if program == "goblin-actor" || !strings.Contains(hint, "goblin-actor ") {
		return hint
	}
	return commandLine().ReplaceAllString(hint, strings.ReplaceAll(program, "$", "$$")+" $1")
}

// programName is the word that starts this program in the user's shell.
var programName = sync.OnceValue(func() string { return startedAs(os.Args[0], exec.LookPath) })

// startedAs returns the word for a program whose first argument is arg0: its base name if the shell finds the same file under
// it, otherwise the path.
func startedAs(arg0 string, look func(string) (string, error)) string {
	if !strings.ContainsRune(filepath.ToSlash(arg0), '/') {
		return arg0
	}
	base := strings.TrimSuffix(filepath.Base(arg0), ".exe")
	if found, err := look(base); err == nil && sameFile(found, arg0) {
		return base
	}
	return shellPath(arg0)
}

// startedSource is a status.Source whose hints name the program as it was started.
type startedSource struct{ status.Source }

// Status implements status.Source.
func (s startedSource) Status(ctx context.Context) (*status.Snapshot, error) {
	snapshot, err := s.Source.Status(ctx)
	if err != nil || programName() == "goblin-actor" {
		return snapshot, err
	}
	changed := *snapshot // a gateway in this process shares its snapshot with others
	changed.Servers = append([]status.Server{}, snapshot.Servers...)
	for i := range changed.Servers {
		changed.Servers[i].Hint = asStarted(changed.Servers[i].Hint)
	}
	return &changed, nil
}
