package doctor

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/pattern"
	"goblin-actor/internal/secret"
)

// symptom is what was seen of a server that is not well.
type symptom struct {
	server  config.Server
	command []string // as it may be shown
	state   string
	reason  string   // "" = it has said nothing at all
	stderr  []string // different lines
	noise   int      // lines on stdout that are not messages
	file    string   // the configuration

	suspects []suspect
}

// suspect is a warning about the server's configuration that may be why it fails.
type suspect struct {
	advice
	ofProgram bool // it is about the program to run
}

// suspects returns the warnings about a server that may be why it fails, in the order of the file.
func (d *diagnosis) suspects(server config.Server) []suspect {
	var list []suspect
	for _, f := range d.report.Warnings {
		if key, ok := config.KeyOf(f.Path, server); ok && f.Suspect {
			list = append(list, suspect{advice{key + ": " + f.Message, f.Hint}, key == "command"})
		}
	}
	return list
}

// beforeItRan matches symptoms of a server that was not even reached, for which no value that it would be given can be the cause.
var beforeItRan = pattern.Lazy(`(?i)program not found|no executable file|may not be run|exec format error|working directory|no such host|connection refused|no route to host|network is unreachable`)

// searchPath is the list of directories that an error of a missing program ends with.
var searchPath = pattern.Lazy(` on PATH \([^)]*\)`)

// text is the symptom in a line.
func (s symptom) text(after time.Duration) string {
	said := searchPath().ReplaceAllString(s.reason, " on PATH")
	if said == "" {
		said = fmt.Sprintf("it has not been reached after %v", after)
		switch s.state {
		case "handshaking":
			said = fmt.Sprintf("no answer to initialize after %v", after)
		case "syncing":
			said = fmt.Sprintf("its lists are not complete after %v", after)
		}
	}
	if s.noise > 0 {
		said += "; " + terminal.Count(s.noise, "line") + " of other text on stdout"
	}
	return said
}

// rule knows one symptom. In its texts %1 is what the first group of when has matched.
type rule struct {
	when        func() *regexp.Regexp // in the reason and the lines of stderr
	cause, todo string
}

func on(when, cause, todo string) rule { return rule{pattern.Lazy("(?i)" + when), cause, todo} }

// anyServer are the symptoms of programs and URLs alike.
var anyServer = []rule{
	on(`could not be listed`, "it runs, but does not say what it offers", "look at its own log; the gateway goes on asking"),
	on(`protocol version`, "no version of the protocol in common", "update the server, or set protocol: to a version both know"),
}

// programs are the symptoms of commands, the most exact first. {run} is the command line, {cwd} the word about where it runs.
var programs = []rule{
	on(`working directory "(.*?)" does not exist`, "its cwd is not there: %1", "create the directory, or mend cwd: a relative one is beside the configuration"),
	on(`may not be run|fork/exec .*permission denied`, "the program may not be run", "chmod +x it, or name the interpreter as command and the script in args"),
	on(`exec format error`, "the program is no program of this system, or a script without its first line", "write #!… into its first line, or name the interpreter as command"),
	on(`no executable file`, "the program {program} is not there", "mend command: a relative one is looked for beside the configuration, then in cwd"),
	on(`not found on path`, "the program {program} is not there", "{install}; or write its whole path into command: a gateway started by a desktop program has a shorter PATH than your shell"),
	on(`npm (?:error|err!) 404 .*\bget https?://\S+?/((?:@[^/\s]+/)?[^/\s]+)(?:\s|$)`, "npm knows no package of that name: %1", "mend the name in args; npm view NAME tells whether there is one, and a private one needs npm login"),
	on(`npm (?:error|err!) .*\be404\b|npm (?:error|err!) 404`, "npm knows no package of that name", "mend the name in args; npm view NAME tells whether there is one, and a private one needs npm login"),
	on(`npm (?:error|err!) .*(?:etarget|notarget)`, "npm knows the package, but not that version of it", "mend the version behind the @ in args; npm view NAME versions lists them"),
	on(`npm (?:error|err!) .*could not determine executable`, "the npm package has no program to run", "look up its name: an MCP server's package has one"),
	on(`npm (?:error|err!).*(?:eai_again|enotfound|econnrefused|econnreset|etimedout|err_socket_timeout|self.signed|network)`, "npm does not reach its registry",
		"look at the network; where there is a proxy: a server gets HTTPS_PROXY only if its env says so, or inheritEnv: true"),
	on(`npm (?:error|err!) .*(?:eacces|eperm)`, "npm may not write where it wants to", "look who owns ~/.npm, and where npm config get prefix leads"),
	on(`npm (?:error|err!) .*enoent`, "npm misses a file", "run it by hand: {run}"),
	on(`cannot connect to the docker daemon|docker daemon is not running|docker api at`, "docker does not run, or may not be used", "start docker (docker info tells whether it runs), or join the group docker"),
	on(`pull access denied|manifest unknown|repository does not exist`, "docker knows no image of that name", "mend the image in args; docker pull IMAGE tells more"),
	on(`no solution found|not found in the package registry|because (\S+) was not found`, "uv knows no package of that name", "mend the name in args; a program of another name than its package needs --from"),
	on(`can't open file '(.*?)'`, "Python does not find its script: %1", "{cwd}"),
	on(`no module named '?([\w.]+)'?`, "the Python package %1 is not installed where this python looks", "name the python of the right environment as command (.venv/bin/python), or install it there; uvx brings its own"),
	on(`cannot find module '(/.*?|[a-z]:\\.*?)'`, "Node does not find its script: %1", "{cwd}"),
	on(`cannot find (?:module|package) '(.*?)'`, "the npm package %1 is not installed there", "npm install where the script is, or let npx fetch it"),
	on(`eaddrinuse|address already in use`, "its port is taken: another copy of it may run", "end the other one, or give it another port"),
	on(`env: .?([^\s':‘’]+).?: no such file|: ([^\s:]+): (?:command )?not found`, "the interpreter %1 is not there", "install it, or write its whole path into command; a gateway started by a desktop program has a shorter PATH than your shell"),
	on(`([A-Z][A-Z0-9]*_[A-Z0-9_]+).{0,40}(?:not set|required|missing|must be|undefined|not found|not provided)|(?:missing|required|set|provide).{0,40}\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)`,
		"it wants the variable %1", "write env: {%1: \"${%1}\"} at the server: it gets PATH, HOME and a few more, not all that your shell has"),
	on(`exited with code 0`, "the program ended by itself, without an error", "run it by hand: {run}; does it want an argument such as stdio, or docker run -i?"),
	on(`exited with|ended by signal|closed its stdout`, "the program ended by itself", "run it by hand: {run}"),
}

// addresses are the symptoms of URLs.
var addresses = []rule{
	on(`moved to (\S+); set url`, "the server has moved to %1", "set url to %1 if you trust it; if it is a login page, put a token into headers instead"),
	on(`encoding of the response is not supported: content-encoding "(.*?)"`, "the server, or a proxy in front of it, sends the encoding %1 without being asked", "set it to respect Accept-Encoding; the gateway decodes gzip and deflate, one at a time"),
	on(`response cannot be decoded|decodes to too many bytes`, "the server, or a proxy in front of it, compresses wrongly", "turn its compression off, or set headers: {Accept-Encoding: identity} at the server"),
	on(`asks for (\S+) authentication`, "the server asks for %1 authentication, which the gateway has no login for", `set headers: {Authorization: "%1 ${CREDENTIALS}"} at the server`),
	on(`html page|http (?:404|405) |is no event stream|offers no http`, "there is no MCP endpoint at that URL", "{endpoint}"),
	on(`http 403 `, "the server knows who is calling and refuses, or does not like the Host or Origin", "look at the token in headers, and at the server's list of allowed hosts"),
	on(`nobody is logged in`, "the server wants a login, and doctor uses none of the gateway's", `goblin-actor login {name}; when that is done, "goblin-actor status" says whether it serves`),
	on(`by client credentials: .*invalid_client`, "the authorization server does not know the gateway by clientId and clientSecret", "mend them in the configuration, under auth"),
	on(`http 401 |wants a login`, "the server wants to know who is calling", `goblin-actor login {name}, or a token in headers: {Authorization: "Bearer ${TOKEN}"}`),
	on(`http 3\d\d `, "the server redirects in a way that is not followed", "run curl -I on the url to see where it leads, and set url to that if you trust it"),
	on(`http 429 `, "the server limits requests, and the limit is reached", "wait as long as it says; lower maxConcurrent, or ask for a higher limit"),
	on(`http 5\d\d `, "the server, or a proxy before it, is in trouble", "look at its own log; the gateway goes on trying"),
	on(`first record does not look like a tls|server gave http response`, "it speaks http there, not https", "write http:// in url, or the port of https"),
	on(`certificate|x509`, "its certificate is not trusted, or is for another name", "write the name it is for in url, mend the certificate, or add its authority to the system's"),
	on(`malformed http answer|tls: |unexpected eof|connection was reset`, "what listens there does not speak http, or wants https", "try https:// in url, and look at the port"),
	on(`no such host`, "nobody knows that host", "mend the name in url; look at the network"),
	on(`connection refused`, "nobody listens at that port", "start that server, or mend the port in url"),
	on(`^waits for the connection|dial |i/o timeout|network is unreachable|no answer within|no route to host`, "nobody answers at its URL", "look whether the server runs, and whether a proxy or firewall is in between"),
	on(`refused initialize|not a json-rpc|jsonrpc is not|without an answer`, "what answers there is no MCP server", "{endpoint}"),
	on(`starttimeout|^waits for the answer|^waits for its lists|^$`, "it takes the connection, but does not answer", "look at its own log; raise startTimeout or --timeout if it only is slow"),
}

// explain says why a server is not well and what a person can do: the most likely cause first. It is what is wrong with the program in
// the configuration; then, if the server was reached, what is wrong with its arguments and values; then what was seen.
func (s symptom) explain() []advice {
	cause, todo := s.seen()
	usual := advice{cause, todo}
	reached := !beforeItRan().MatchString(s.reason)
	var first, last []advice
	for _, one := range s.suspects {
		if one.ofProgram && reached || !one.ofProgram && !reached || s.state == "misconfigured" {
			last = append(last, one.advice)
			continue
		}
		first = append(first, one.advice)
	}
	if !reached && len(first) > 0 {
		return append(first, last...) // the program is there under its right name
	}
	return append(append(first, usual), last...)
}

// seen says so by what was seen.
func (s symptom) seen() (cause, todo string) {
	if s.state == "misconfigured" {
		return "its configuration cannot be carried out", "goblin-actor config check names the line; a variable is set where the gateway starts or in envFile, or has a default as ${NAME:-value}"
	}
	seen := strings.Join(append([]string{s.reason}, s.stderr...), "\n")
	rules := append(anyServer[:len(anyServer):len(anyServer)], programs...)
	if len(s.server.URLs) > 0 {
		seen, rules = s.reason, append(anyServer[:len(anyServer):len(anyServer)], addresses...)
	}
	for _, r := range rules {
		if found := r.when().FindStringSubmatch(seen); found != nil {
			return s.fill(r.cause, found), s.fill(r.todo, found)
		}
	}
	byHand := "run it by hand: " + s.run()
	switch {
	case len(s.server.URLs) > 0:
		return "see what it said", "look at its own log"
	case s.noise > 0:
		return "it prints its log on stdout, where messages belong, or is no MCP server on stdio", "have it log to stderr, or look for its flag for stdio; " + byHand
	case strings.Contains(s.reason, "refused initialize"):
		return "what answers is no MCP server on stdio", "look for its flag for stdio; " + byHand
	case s.reason == "" || strings.Contains(s.reason, "startTimeout") || strings.HasPrefix(s.reason, "waits for "):
		return "it runs and is silent: it may be downloading, or wait for something else than MCP on stdin",
			"raise startTimeout and --timeout if it is slow (a first npx download is); does it need an argument such as stdio? " + byHand
	}
	return "see what it said", byHand
}

// fill puts what a rule has matched, and what is known of the server, into its texts.
func (s symptom) fill(text string, found []string) string {
	first := ""
	for _, group := range found[min(1, len(found)):] {
		first = cmp.Or(first, group)
	}
	if unescaped, err := url.PathUnescape(first); err == nil {
		first = unescaped
	}
	replaced := strings.NewReplacer("%1", terminal.OneLine(secret.Text(first), 100), "{name}", s.server.Name, "{program}", terminal.OneLine(s.command[0], 80), "{run}", s.run(), "{install}", installs(s.server.Command),
		"{cwd}", s.whereFrom(), "{endpoint}", s.endpoint()).Replace(text)
	return replaced
}

// run is the command line as one types it where the gateway runs it.
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

// whereFrom says how a path among args is taken.
func (s symptom) whereFrom() string {
	if s.server.Cwd != "" {
		return "mend the path in args: it is taken from cwd, " + s.server.Cwd
	}
	return "write the whole path in args, or set cwd: paths are taken from where the gateway is started"
}

// endpoint says where else an MCP server may be.
func (s symptom) endpoint() string {
	const other = "look up the path (often /mcp or /sse)"
	if len(s.server.URLs) == 0 {
		return other
	}
	u, err := url.Parse(s.server.URLs[0])
	if err != nil || u.Path != "" && u.Path != "/" {
		return other + "; a page of HTML is often a login or a start page"
	}
	return "write the path, too: most have " + secret.URL(u.Scheme+"://"+u.Host+"/mcp") + ", older ones /sse"
}

// installs says how a program that people know gets on a machine.
func installs(command string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe")
	for _, one := range []struct{ names, how string }{
		{"npx npm node pnpm yarn", "install Node.js (https://nodejs.org, or the package nodejs with npm)"},
		{"uvx uv", "install uv (https://docs.astral.sh/uv, or pip install uv)"},
		{"python", "install Python 3; on many systems it is called python3"},
		{"python3 pip pipx", "install Python 3 (https://python.org, or the package python3)"},
		{"docker podman", "install Docker or podman"},
		{"bun bunx", "install Bun (https://bun.sh)"},
		{"deno", "install Deno (https://deno.com)"},
		{"go", "install Go (https://go.dev)"},
		{"java", "install a Java runtime"},
		{"dotnet dnx", "install .NET (https://dot.net)"},
	} {
		if strings.Contains(" "+one.names+" ", " "+name+" ") {
			return one.how
		}
	}
	return "install it"
}
