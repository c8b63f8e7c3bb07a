package doctor

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/pattern"
	"goblin-actor/internal/secret"
)

// symptom holds the observations about a server that has a problem.
type symptom struct {
	server  config.Server
	command []string // the command line, with secrets redacted
	state   string
	reason  string   // why the server failed; "" = it has reported nothing
	stderr  []string // distinct lines
	noise   int      // lines on stdout that are not messages
	file    string   // the configuration file

	suspects []suspect
}

// suspect is a warning about the server's configuration that may be the cause of the failure.
type suspect struct {
	advice
	reaching bool // the warning is about the key `command`, `url` or `urls`
}

// suspects returns the warnings about a server that may be the cause of its failure, in the order of the file.
func (d *diagnosis) suspects(server config.Server) []suspect {
	var list []suspect
	for _, f := range d.report.Warnings {
		if key, ok := config.KeyOf(f.Path, server); ok && f.Suspect {
			list = append(list, suspect{advice{key + ": " + f.Message, f.Hint}, key == "command" || key == "url" || strings.HasPrefix(key, "urls")})
		}
	}
	return list
}

// notReached matches failures of a server that was never reached. Wrong arguments, variables or headers cannot be their
// cause.
var notReached = pattern.Lazy(`(?i)program not found|no executable file|is not executable|exec format error|working directory|no such host|connection refused|no route to host|network is unreachable`)

// searchPath matches the list of directories at the end of an error about a missing program.
var searchPath = pattern.Lazy(` on PATH \([^)]*\)`)

// summary describes the symptom in one line. after is how long doctor has waited for the server.
func (s symptom) summary(after time.Duration) string {
	text := searchPath().ReplaceAllString(s.reason, " on PATH")
	if text == "" {
		text = fmt.Sprintf("no connection after %v", after)
		switch s.state {
		case "handshaking":
			text = fmt.Sprintf("no response to the handshake after %v", after)
		case "syncing":
			text = fmt.Sprintf("its lists are incomplete after %v", after)
		}
	}
	if s.noise > 0 {
		text += "; " + terminal.Count(s.noise, "line") + " of other text on stdout"
	}
	return text
}

// explain returns the possible causes of the failure with their fixes, the most likely first. If the server was
// reached, the first are the warnings about keys other than `command`, `url` and `urls`, then comes the cause that the
// failure suggests, then the warnings about those keys. If the server was not reached, warnings about those keys come
// first and replace the cause that the failure suggests; the other warnings follow. For a misconfigured server, all
// warnings come last.
func (s symptom) explain() []advice {
	cause, fix := s.diagnose()
	usual := advice{cause, fix}
	reached := !notReached().MatchString(s.reason)
	var first, last []advice
	for _, one := range s.suspects {
		if one.reaching == reached || s.state == "misconfigured" {
			last = append(last, one.advice)
			continue
		}
		first = append(first, one.advice)
	}
	if !reached && len(first) > 0 {
		return append(first, last...) // the warning names the cause, so the usual advice would mislead
	}
	return append(append(first, usual), last...)
}

// diagnose returns the cause that the observed failure suggests, and its fix.
func (s symptom) diagnose() (cause, fix string) {
	if s.state == "misconfigured" {
		return "the server's configuration is invalid", "run goblin-actor config check to see the line; set a missing variable where the gateway starts or in `envFile`, or give it a default: ${NAME:-value}"
	}
	seen, own := strings.Join(append([]string{s.reason}, s.stderr...), "\n"), process
	if len(s.server.URLs) > 0 {
		seen, own = s.reason, remote
	}
	for _, r := range knowledge {
		if r.kind != anyServer && r.kind != own {
			continue
		}
		if found := r.pattern().FindStringSubmatch(seen); found != nil {
			return s.fill(r.cause, found), s.fill(r.fix, found)
		}
	}
	byHand := "run the server by hand: " + s.run()
	switch {
	case own == remote:
		return "unknown", "check the server's log"
	case s.noise > 0:
		return "the program writes its log to stdout, which is reserved for messages, or it is not an MCP server on stdio", "make the program log to stderr, or add its flag for stdio; " + byHand
	case strings.Contains(s.reason, "refused initialize"):
		return "the program is not an MCP server on stdio", "add its flag for stdio; " + byHand
	case s.reason == "" || strings.Contains(s.reason, "startTimeout") || strings.HasPrefix(s.reason, "waiting for "):
		return "the program runs but does not answer: it may be downloading, or expect something other than MCP on stdin",
			"if the program is slow, as on the first run of npx, raise `startTimeout` and --timeout; add an argument if it needs one, such as stdio; " + byHand
	}
	return "unknown", byHand
}

// fill replaces the placeholders of a rule's text. found is the match of the rule's pattern.
func (s symptom) fill(text string, found []string) string {
	first := ""
	for _, group := range found[min(1, len(found)):] {
		first = cmp.Or(first, group)
	}
	if unescaped, err := url.PathUnescape(first); err == nil {
		first = unescaped
	}
	return strings.NewReplacer("%1", terminal.OneLine(secret.Text(first), 100), "{name}", s.server.Name, "{program}", terminal.OneLine(s.command[0], 80),
		"{run}", s.run(), "{install}", installHint(s.server.Command), "{path}", s.pathHint(), "{endpoint}", s.endpointHint()).Replace(text)
}

// run returns the shell command that starts the program in the same way as the gateway does.
func (s symptom) run() string {
	line := terminal.OneLine(program.ShellWords(s.command, runtime.GOOS), 200)
	dir := s.server.Cwd
	if dir == "" && strings.ContainsAny(s.server.Command, `/\`) && !filepath.IsAbs(s.server.Command) && filepath.Dir(s.file) != "." {
		dir = filepath.Dir(s.file)
	}
	if dir != "" {
		line = "cd " + program.ShellWords([]string{strings.ReplaceAll(dir, "$", "$$")}, runtime.GOOS) + " && " + line
	}
	return line
}

// pathHint explains how a relative path in args is resolved.
func (s symptom) pathHint() string {
	if s.server.Cwd != "" {
		return "correct the path in `args`; a relative path is resolved against `cwd`, " + s.server.Cwd
	}
	return "correct the path in `args`; without `cwd`, a relative path is resolved against the directory where the gateway was started"
}

// endpointHint suggests other URLs for the MCP endpoint.
func (s symptom) endpointHint() string {
	const other = "look up the path of the endpoint (often /mcp or /sse)"
	if len(s.server.URLs) == 0 {
		return other
	}
	u, err := url.Parse(s.server.URLs[0])
	if err != nil || u.Path != "" && u.Path != "/" {
		return other + "; an HTML page may be a login or start page"
	}
	return "add the path to `url`: usually " + secret.URL(u.Scheme+"://"+u.Host+"/mcp") + ", for older servers /sse"
}

// installHint describes how to install a well-known program.
func installHint(command string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe")
	for _, one := range installations {
		if strings.Contains(" "+one.programs+" ", " "+name+" ") {
			return one.how
		}
	}
	return "install it"
}
