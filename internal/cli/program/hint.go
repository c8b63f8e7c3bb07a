package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// CommandNames are the commands that hints may name. A test compares the list with the tree of commands.
var CommandNames = []string{
	"add", "audit", "bench", "call", "calls", "cluster", "config", "demo", "describe", "disable", "doctor", "drain", "enable", "health", "key", "lint", "list", "login", "logout",
	"logs", "migrate", "policy", "prompt", "read", "remove", "restart", "serve", "service", "status", "stdio", "tui", "version", "watch",
}

var (
	commandLineOnce sync.Once
	commandLineForm *regexp.Regexp
)

// commandLine matches the program's name and a command in a hint.
func commandLine() *regexp.Regexp {
	commandLineOnce.Do(func() {
		commandLineForm = regexp.MustCompile(`\bgoblin-actor (` + strings.Join(CommandNames, "|") + `)\b`)
	})
	return commandLineForm
}

// Hint returns a hint whose command lines the user can copy: they start with the name under which the program was
// started.
func Hint(hint string) string { return namedAs(hint, Name()) }

func namedAs(hint, program string) string {
	if program == "goblin-actor" || !strings.Contains(hint, "goblin-actor ") {
		return hint
	}
	return commandLine().ReplaceAllString(hint, strings.ReplaceAll(program, "$", "$$")+" $1")
}

// nameForTests, if set, is returned by Name.
var nameForTests atomic.Pointer[string]

// SetName makes Name return name until restore is called. For tests.
func SetName(name string) (restore func()) {
	before := nameForTests.Swap(&name)
	return func() { nameForTests.Store(before) }
}

// Name returns the word that starts this program in the user's shell.
func Name() string {
	if name := nameForTests.Load(); name != nil {
		return *name
	}
	return startedName()
}

var startedName = sync.OnceValue(func() string { return startedAs(os.Args[0], exec.LookPath) })

// startedAs returns the word that starts a program whose os.Args[0] is arg0: arg0 itself if it is not a path, its base
// name if look finds the same file under that name, otherwise the quoted path.
func startedAs(arg0 string, look func(string) (string, error)) string {
	if !strings.ContainsRune(filepath.ToSlash(arg0), '/') {
		return arg0
	}
	base := strings.TrimSuffix(filepath.Base(arg0), ".exe")
	if found, err := look(base); err == nil && SameFile(found, arg0) {
		return base
	}
	return ShellPath(arg0)
}
