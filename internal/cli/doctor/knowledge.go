package doctor

import (
	"regexp"

	"goblin-actor/internal/pattern"
)

// kind selects the servers to which a rule applies.
type kind int

const (
	anyServer kind = iota // processes and URLs
	process               // servers with a command
	remote                // servers with a URL
)

// rule explains one failure.
type rule struct {
	kind    kind
	pattern func() *regexp.Regexp
	cause   string // what is wrong
	fix     string // how the user can fix it
	example string // a message that this rule explains; a test checks that no earlier rule does
	foreign bool   // the message is from the server's program, not from the gateway or Go's library
}

// on returns a rule for servers of kind k. Its pattern is when, and matching ignores case.
func on(k kind, when, example, cause, fix string) rule {
	return rule{kind: k, pattern: pattern.Lazy("(?i)" + when), cause: cause, fix: fix, example: example}
}

// written returns a rule for a line that a program writes on stderr.
func written(when, example, cause, fix string) rule {
	r := on(process, when, example, cause, fix)
	r.foreign = true
	return r
}

// knowledge is the table of failures that doctor can explain. The first rule that matches explains the failure.
//
// To add a rule, insert an entry before any more general one:
//
//	on(process, `pattern`, `a message it matches`,
//		"what is wrong",
//		"what to do"),
//
// A rule for a process is matched against the reason of the failure and the lines that the program wrote on stderr, one
// per line. Use written for a rule about such a line. A rule for a remote server is matched against the reason alone.
// All rules except those of written match texts of this program or of Go's library, and a test checks each alternative
// of their patterns against such texts. cause and fix may contain these placeholders:
//
//	%1          the first group of the pattern that is not empty
//	{name}      the name of the server
//	{program}   the program, as configured
//	{run}       the command line that starts the program by hand
//	{install}   how to install the program
//	{path}      how the program's relative paths are resolved
//	{endpoint}  where the MCP endpoint of the URL may be
//
// TestKnowledge reports what a new rule lacks.
var knowledge = []rule{
	on(anyServer, `could not be listed`, `its tools could not be listed: timeout`,
		"the server runs, but a request for one of its lists failed",
		"check the server's log; the gateway keeps retrying"),
	on(anyServer, `protocol version`, `the server requires protocol version "2030-01-01"`,
		"the server and the gateway have no protocol version in common",
		"update the server, or set `protocol` to a version that both support"),

	on(process, `working directory "(.*?)" does not exist`, `working directory "/srv/x" does not exist`,
		"the working directory does not exist or is not a directory: %1",
		"create the directory, or correct `cwd`; a relative path is resolved against the configuration's directory"),
	on(process, `is not executable|fork/exec .*permission denied`, `fork/exec ./server: permission denied`,
		"the program is not executable",
		"run chmod +x on it, or set `command` to the interpreter and pass the script in `args`"),
	on(process, `exec format error`, `fork/exec ./server: exec format error`,
		"the file is not a program for this system, or it is a script without a #! line",
		"install a build for this system; for a script, add a #! line, or set `command` to the interpreter and pass the script in `args`"),
	on(process, `no executable file`, `program not found: no executable file at ./server`,
		"the program {program} does not exist",
		"correct `command`; a relative path is resolved against the configuration's directory, then `cwd`"),
	on(process, `not found on path`, `program not found on PATH (/usr/bin)`,
		"the program {program} is not on PATH",
		"{install}; or set `command` to the full path: a gateway started by a desktop program has a shorter PATH than your shell"),
	written(`npm (?:error|err!) 404 .*\bget https?://\S+?/((?:@[^/\s]+/)?[^/\s]+)(?:\s|$)`, `npm error 404 Not Found - GET https://npm.example/@x%2fy`,
		"npm found no package named %1",
		"correct the name in `args`, and check it with npm view NAME; for a private package, run npm login"),
	written(`npm (?:error|err!) .*\be404\b|npm (?:error|err!) 404`, `npm error code E404`,
		"npm found no package with that name",
		"correct the name in `args`, and check it with npm view NAME; for a private package, run npm login"),
	written(`npm (?:error|err!) .*(?:etarget|notarget)`, `npm error code ETARGET`,
		"npm found the package, but not this version of it",
		"correct the version after the @ in `args`; to list the versions, run npm view NAME versions"),
	written(`npm (?:error|err!) .*could not determine executable`, `npm error could not determine executable to run`,
		"npm cannot tell which program of the package to run: it has none, or several and none with the package's name",
		"correct the package name in `args`; if the package has several programs, write npx -y --package PACKAGE PROGRAM"),
	written(`npm (?:error|err!).*(?:eai_again|enotfound|econnrefused|econnreset|etimedout|err_socket_timeout|self.signed|network)`, `npm error code ENOTFOUND`,
		"npm cannot reach its registry",
		"check the network; behind a proxy, pass HTTPS_PROXY in the server's `env` or set `inheritEnv: true`"),
	written(`npm (?:error|err!) .*(?:eacces|eperm)`, `npm error code EACCES`,
		"npm lacks permission to write its files",
		"check who owns ~/.npm and npm's prefix directory; to print its path, run npm config get prefix"),
	written(`npm (?:error|err!) .*enoent`, `npm error code ENOENT`,
		"npm did not find a file",
		"run the server by hand: {run}"),
	written(`cannot connect to the docker daemon|docker daemon is not running|docker api at`, `Cannot connect to the Docker daemon`,
		"Docker is not running, or the gateway's user may not use it",
		"start Docker and check it with docker info, or add the user to the group docker"),
	written(`pull access denied|manifest unknown|repository does not exist`, `pull access denied for x`,
		"Docker found no image with that name, or is not allowed to pull it",
		"correct the image name in `args`; for details, run docker pull IMAGE; for a private image, run docker login"),
	written(`no solution found|not found in the package registry|because (\S+) was not found`, `Because x was not found in the package registry`,
		"uv found no package with that name, or no version that meets all requirements",
		"correct the name or version in `args`; if the program and its package have different names, name the package with --from"),
	written(`can't open file '(.*?)'`, `python3: can't open file '/srv/x.py'`,
		"Python did not find its script: %1",
		"{path}"),
	written(`no module named '?([\w.]+)'?`, `ModuleNotFoundError: No module named 'mcp'`,
		"Python found no module %1 in this environment",
		"set `command` to the python of the right environment (.venv/bin/python), or install the package there; uvx installs what it needs"),
	written(`cannot find module '(/[^']*|[a-z]:\\[^']*)' imported from`, `Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/srv/dist/util' imported from /srv/dist/index.js`,
		"a file that the server imports does not exist: %1",
		"build or reinstall the server, because its files are incomplete"),
	written(`cannot find module '(/.*?|[a-z]:\\.*?)'`, `Error: Cannot find module '/srv/x.js'`,
		"Node.js did not find its script: %1",
		"{path}"),
	written(`cannot find (?:module|package) '(.*?)'`, `Error: Cannot find module 'zod'`,
		"the npm package %1 is not installed",
		"run npm install in the directory of the script, or start the server with npx"),
	written(`eaddrinuse|address already in use`, `Error: listen EADDRINUSE`,
		"the server's port is in use; another copy of the server may be running",
		"stop the other copy, or configure another port"),
	written(`env: .?([^\s':‘’]+).?: no such file|: ([^\s:]+): (?:command )?not found`, `sh: 1: node: not found`,
		"the program %1, which the server needs, was not found",
		"install it, or add its directory to PATH in the server's `env`; a gateway started by a desktop program has a shorter PATH than your shell"),
	written(`([A-Z][A-Z0-9]*_[A-Z0-9_]+).{0,40}(?:not set|required|missing|must be|undefined|not found|not provided)|(?:missing|required|set|provide).{0,40}\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)`,
		`API_TOKEN is not set`,
		"the server needs the variable %1",
		"add env: {%1: \"${%1}\"} to the server; servers inherit only PATH, HOME and a few more variables"),
	on(process, `exited with code 0`, `process exited with code 0`,
		"the program ended without an error",
		"run the server by hand: {run}; add an argument if it needs one, such as stdio, or -i for docker run"),
	on(process, `exited with|ended by signal|closed its stdout`, `process exited with code 3`,
		"the program ended",
		"run the server by hand: {run}"),

	on(remote, `moved to (\S+); set url`, `HTTP 301 (Moved Permanently): moved to https://example.com/mcp; set url to that if you trust it`,
		"the server has moved to %1",
		"set `url` to %1 if you trust it; if it is a login page, put a token into `headers` instead"),
	on(remote, `encoding of the response is not supported: content-encoding "(.*?)"`, `the encoding of the response is not supported: Content-Encoding "br"`,
		"the server, or a proxy in front of it, uses the encoding %1, which the gateway does not accept",
		"configure the server or proxy to respect Accept-Encoding; the gateway decodes a response in gzip or deflate, but not in several encodings at once"),
	on(remote, `response cannot be decoded`, `the response cannot be decoded: gzip`,
		"the server, or a proxy in front of it, sends invalid compressed data",
		"turn off compression there, or set headers: {Accept-Encoding: identity} for the server"),
	on(remote, `decodes to too many bytes`, `the response decodes to too many bytes: 9 bytes of gzip decode to at least 999 bytes`,
		"the compressed response expands to far more than the maximum size of a message",
		"raise `limits.maxMessageBytes` if the response is legitimate"),
	on(remote, `asks for (\S+) authentication`, `the server asks for Basic authentication`,
		"the server asks for %1 authentication, for which the gateway has no login",
		`set headers: {Authorization: "%1 ${CREDENTIALS}"} for the server`),
	on(remote, `html page|http 404 |http 405 |not an event stream|offers no http`, `HTTP 404 (Not Found): an HTML page`,
		"there is no MCP endpoint at this URL",
		"{endpoint}"),
	on(remote, `http 403 `, `HTTP 403 (Forbidden)`,
		"the server refuses this client, or the Host or Origin header of its requests",
		"check the token in `headers`, and the list of allowed hosts on the server"),
	on(remote, `not logged in`, `not logged in to the server`,
		"the server needs a login; without --connect, doctor does not use the gateway's logins",
		`run goblin-actor login {name}; afterwards, check with goblin-actor status that the server is ready`),
	on(remote, `with client credentials: .*invalid_client`, `get a token with client credentials: invalid_client`,
		"the authorization server rejects the gateway's clientId or clientSecret",
		"correct them in the configuration, under `auth`"),
	on(remote, `http 401 |requires a login`, `HTTP 401 (Unauthorized)`,
		"the server requires authentication",
		`run goblin-actor login {name}, or set a token in headers: {Authorization: "Bearer ${TOKEN}"}`),
	on(remote, `http 3\d\d `, `HTTP 302 (Found)`,
		"the server redirects in a way that the gateway does not follow",
		"run curl -I on the URL to see where it redirects, and set `url` to that address if you trust it"),
	on(remote, `http 429 `, `HTTP 429 (Too Many Requests)`,
		"the server's rate limit is reached",
		"wait as long as the server requests; if this recurs, lower `maxConcurrent` or ask for a higher limit"),
	on(remote, `http 5\d\d `, `HTTP 502 (Bad Gateway)`,
		"the server, or a proxy in front of it, has failed",
		"check the log of the server or proxy; the gateway keeps retrying"),
	on(remote, `first record does not look like a tls|server gave http response`, `tls: first record does not look like a TLS handshake`,
		"the server speaks HTTP on this port, not HTTPS",
		"use http:// in `url`, or the HTTPS port"),
	on(remote, `certificate|x509`, `x509: certificate signed by unknown authority`,
		"the server's certificate is not trusted, has expired, or was issued for another name",
		"use a host name from the certificate in `url`, renew the certificate, or add the CA that issued it to the system's trust store"),
	on(remote, `malformed http|tls: |connection was reset|connection was closed`, `the connection was reset before the response was complete`,
		"the peer on this port does not speak the protocol of the URL (HTTP or HTTPS), supports no common TLS version, or closed the connection",
		"check the port in `url`, and whether it needs http:// or https://"),
	on(remote, `no such host`, `lookup mcp.example: no such host`,
		"the host name does not exist or cannot be resolved",
		"correct the name in `url`, or check the network"),
	on(remote, `connection refused`, `connect: connection refused`,
		"no server listens on this port",
		"start the server, or correct the port in `url`"),
	on(remote, `^waiting for the connection|connect to |dial |i/o timeout|network is unreachable|no answer within|no route to host`, `dial tcp 192.0.2.1:80: i/o timeout`,
		"the server does not answer at its URL",
		"check that the server is running and that no proxy or firewall blocks the connection"),
	on(remote, `refused initialize|not a json-rpc|jsonrpc is not|without an answer`, `the server refused initialize: unknown method`,
		"the peer at this URL is not an MCP server",
		"{endpoint}"),
	on(remote, `starttimeout|^waiting for the response|^waiting for the server's lists|^$`, `not ready within startTimeout (30s)`,
		"the server does not answer the gateway's requests in time",
		"check the server's log; if the server is only slow, raise `startTimeout` and --timeout"),
}

// installation describes how to install programs that commonly start servers. programs is a list separated by spaces.
type installation struct{ programs, how string }

var installations = []installation{
	{"npx npm node", "install Node.js (https://nodejs.org, or the packages nodejs and npm)"},
	{"pnpm", "install Node.js (https://nodejs.org), then run npm install -g pnpm"},
	{"yarn", "install Node.js (https://nodejs.org), then run npm install -g yarn"},
	{"uvx uv", "install uv (https://docs.astral.sh/uv, or pip install uv)"},
	{"python", "install Python 3; on many systems the program is called python3"},
	{"python3 pip pipx", "install Python 3 (https://python.org, or the package python3)"},
	{"docker podman", "install Docker or Podman"},
	{"bun bunx", "install Bun (https://bun.sh)"},
	{"deno", "install Deno (https://deno.com)"},
	{"go", "install Go (https://go.dev)"},
	{"java", "install a Java runtime"},
	{"dotnet dnx", "install .NET (https://dot.net)"},
}
