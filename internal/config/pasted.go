package config

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"goblin-actor/internal/pattern"
	"goblin-actor/internal/secret"
)

// launchers are programs with which command lines in READMEs start. A string that starts with one is a command line
// even if the program is not installed.
var launchers = []string{"npx", "npm", "pnpm", "yarn", "node", "bun", "bunx", "deno", "uv", "uvx", "pipx", "python", "python3",
	"docker", "podman", "go", "java", "dotnet", "cmd", "cmd.exe"}

// shells are programs that expand their arguments.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "cmd.exe", "powershell", "pwsh"}

var (
	windowsPath = pattern.Lazy(`^[A-Za-z]:[\\/]|^\\\\[^\\]`)
	windowsVars = pattern.Lazy(`(?i)%(USERPROFILE|APPDATA|LOCALAPPDATA|HOMEPATH|PROGRAMFILES|TEMP|TMP|USERNAME)%`)
	flagAndText = pattern.Lazy(`^--?[A-Za-z][A-Za-z0-9-]* +\S`)
	homeWord    = pattern.Lazy(`^(?:--?[A-Za-z0-9_-]+=)?(~|\$HOME)(?:[/\\]|$)`)
)

// systems maps GOOS to the name of the operating system.
var systems = map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}

func systemName(goos string) string {
	if name := systems[goos]; name != "" {
		return name
	}
	return goos
}

// CommandLine is a program and its arguments.
type CommandLine struct {
	Command string
	Args    []string
}

// Corrected returns a corrected form of the command line written in a configuration, for the operating system goos, and
// why the written form does not work. It detects a command line in one string, and, outside Windows, `cmd /c` and Windows
// program names. ok is false if it finds nothing wrong. isProgram reports whether a name or path can be run on this
// machine.
func Corrected(goos string, written CommandLine, isProgram func(string) bool) (fixed CommandLine, why string, ok bool) {
	fixed = CommandLine{written.Command, slices.Clone(written.Args)}
	if strings.ContainsAny(fixed.Command, " \t") && !isProgram(fixed.Command) {
		words, err := splitWords(fixed.Command)
		if err == nil && len(words) > 1 && (isProgram(words[0]) || slices.Contains(launchers, strings.ToLower(words[0]))) {
			fixed = CommandLine{words[0], append(words[1:], fixed.Args...)}
			why = "a whole command line in one string; only the first word is the program"
		}
	}
	if goos == "windows" {
		return fixed, why, why != ""
	}
	if rest, is := commandOfCmd(fixed); is && !isProgram(fixed.Command) {
		fixed, why = rest, "cmd /c runs programs on Windows only; this is "+systemName(goos)
	}
	if name, is := withoutWindows(fixed.Command); is && !isProgram(fixed.Command) {
		if why == "" {
			why = fmt.Sprintf("%s is a Windows name; this is %s", shown(fixed.Command), systemName(goos))
		}
		if name == "python" && !isProgram(name) {
			name = "python3"
		}
		fixed.Command = name
	}
	return fixed, why, why != ""
}

// commandOfCmd returns the command line that `cmd /c` would run.
func commandOfCmd(line CommandLine) (rest CommandLine, ok bool) {
	name := strings.ToLower(line.Command[strings.LastIndexAny(line.Command, `\/`)+1:])
	at := slices.IndexFunc(line.Args, func(arg string) bool { return strings.EqualFold(arg, "/c") || strings.EqualFold(arg, "/k") })
	if name != "cmd" && name != "cmd.exe" || at < 0 || at+1 >= len(line.Args) {
		return rest, false
	}
	words := slices.Clone(line.Args[at+1:])
	if len(words) == 1 {
		if split, err := splitWords(words[0]); err == nil && len(split) > 0 {
			words = split
		}
	}
	return CommandLine{words[0], words[1:]}, true
}

// withoutWindows converts a Windows program name (`C:\…\python.exe`, npx.cmd) to its name on other systems.
func withoutWindows(command string) (name string, ok bool) {
	isPath := windowsPath().MatchString(command)
	name = command
	if isPath {
		name = command[strings.LastIndexAny(command, `\/`)+1:]
	}
	for _, suffix := range []string{".exe", ".cmd", ".bat"} {
		if n := len(name) - len(suffix); n > 0 && strings.EqualFold(name[n:], suffix) && !strings.ContainsAny(name, `\/`) {
			return strings.ToLower(name[:n]), true
		}
	}
	return name, isPath && name != ""
}

// ProgramFinder returns a function that reports whether a name or path can be run. It looks up a name in the
// directories of path, which has the form of PATH, and a relative path in the directories bases.
func ProgramFinder(path string, bases ...string) func(string) bool {
	runs := func(file string) bool { _, err := exec.LookPath(file); return err == nil }
	return func(program string) bool {
		switch {
		case program == "":
			return false
		case filepath.IsAbs(program):
			return runs(program)
		case filepath.Base(program) != program:
			return slices.ContainsFunc(bases, func(base string) bool { return base != "" && runs(filepath.Join(base, program)) })
		}
		return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
			return filepath.IsAbs(dir) && runs(filepath.Join(dir, program))
		})
	}
}

// checkPasted warns about a command and arguments that cannot work as written, because they were copied from instructions for a shell or
// another operating system.
func (d *decoder) checkPasted(s *Server, at func(string) string) {
	if d.may.files {
		d.checkCommandLine(s, at)
	}
	expands := slices.Contains(shells, strings.ToLower(filepath.Base(s.Command)))
	for i, arg := range s.Args {
		path := d.itemPath(at("args"), i)
		switch {
		case expands:
		case flagAndText().MatchString(arg):
			words, err := splitWords((&shower{origins: d.report.origins}).text(path, arg))
			if err == nil {
				d.suspect(path, "a flag and its value in one string; the program gets a single argument",
					"write "+strings.Trim(renderFlow(textList(secret.Arguments(words)), d.json), "[]"))
			}
		case d.may.files && runtime.GOOS != "windows" && windowsPath().MatchString(arg):
			d.suspect(path, "a Windows path; this is "+systemName(runtime.GOOS), "write the path of the file or directory on this machine")
		default:
			d.checkHome(path, arg)
		}
	}
	for _, name := range sortedKeys(s.Env) {
		d.checkHome(join(at("env"), name), s.Env[name])
	}
}

// checkHome warns about ~ and $HOME, and about %VARIABLES% of Windows, which are not expanded.
func (d *decoder) checkHome(path, value string) {
	if len(d.report.origins[path].refs) > 0 {
		return
	}
	if found := homeWord().FindStringSubmatch(value); found != nil {
		d.suspect(path, found[1]+" is not expanded here; the server gets it as written", "write ${HOME} for "+found[1])
		return
	}
	if found := windowsVars().FindStringSubmatch(value); found != nil {
		d.suspect(path, found[0]+" is not expanded here; the server gets it as written", "write ${"+strings.ToUpper(found[1])+"} for "+found[0])
	}
}

func (d *decoder) checkCommandLine(s *Server, at func(string) string) {
	path := s.Env["PATH"]
	if path == "" {
		path, _ = d.env("PATH")
	}
	isProgram := ProgramFinder(path, s.Base, s.Cwd)
	_, why, wrong := Corrected(runtime.GOOS, CommandLine{s.Command, s.Args}, isProgram)
	if s.Command == "" || d.reported[at("command")] || !wrong {
		return
	}
	sh := &shower{origins: d.report.origins}
	written := CommandLine{sh.text(at("command"), s.Command), sh.written(at("args"), s.Args)}
	hint := "write the program in command and each argument in args"
	if fixed, _, ok := Corrected(runtime.GOOS, written, isProgram); ok {
		hint = d.twoLines(fixed)
	}
	d.suspect(at("command"), why, hint)
}

// twoLines formats a command line for the file, with secrets hidden.
func (d *decoder) twoLines(line CommandLine) string {
	command, end := "command: ", ""
	args := "args: "
	if d.json {
		command, args = `"command": `, `"args": `
		if len(line.Args) > 0 {
			end = ","
		}
	}
	command += renderScalar(textNode(secret.Text(line.Command)), d.json) + end
	if len(line.Args) == 0 {
		return "write " + command
	}
	return "write these two lines:\n" + command + "\n" + args + renderFlow(textList(secret.Arguments(line.Args)), d.json)
}

func textList(words []string) *node {
	n := &node{kind: list}
	for _, word := range words {
		n.items = append(n.items, textNode(word))
	}
	return n
}

// suspect warns about the value at path, and marks the warning as the likely cause if the server fails.
func (d *decoder) suspect(path, message, hint string) {
	o := d.report.origins[path]
	before := len(d.report.Warnings)
	d.warn(o.line, o.column, path, message, hint)
	if len(d.report.Warnings) > before {
		d.report.Warnings[before].Suspect = true
	}
}
