package config

import (
	"log/slog"
	"time"

	"goblin-actor/internal/secret"
)

// The tags are the schema; decode.go, show.go, diff.go and the page docs/config.md all read them:
//
//	key:"timeout"   the key in the file
//	in:"shutdown"   the section around it, where the file nests deeper than the struct
//	also:"url"      a second key that holds one value instead of a list
//	min, max        bounds, written as in the file
//	oneof:"a|b"     the words allowed
//	single:"ok"     a list may be written as its only element
//	form:"bytes"    an integer written with a unit
//	secret:"yes"    Show hides values that are no `${…}`
//	change:"…"      connection: a change makes the connections anew; catalog (or none): they stay

// Config is everything a gateway is told.
//
// Default returns a complete one; Load reads a file over it.
type Config struct {
	// Listen holds the addresses we listen on, host:port. A port of 0 takes any free one. As long as nobody is asked who
	// they are (no auth), only loopback addresses are allowed; others want auth, and tls, trustedProxies or `tls: off`.
	// Default: 127.0.0.1:8730. One may stand without brackets.
	Listen []string `key:"listen" single:"ok"`

	// AllowedOrigins are the values of the Origin header we answer besides none and our own, e.g.
	// `https://app.example.org`; others get 403. Allowed origins get CORS and preflight. Default: none.
	AllowedOrigins []string `key:"allowedOrigins" single:"ok"`

	// AllowedHosts are the values of the Host header we answer besides loopback names and what we listen on;
	// others get 403. Default: none.
	AllowedHosts []string `key:"allowedHosts" single:"ok"`

	// Servers are the MCP servers, by name, in the order of the file: where two items would get the same public name,
	// the earlier server keeps it. Names are `[a-z0-9][a-z0-9-]*`, others are changed to that with a warning;
	// `goblin` is ours. Default: none.
	Servers []Server `key:"mcpServers"`

	// Namespace says how public names of tools and prompts are made.
	Namespace Namespace `key:"namespace"`

	// Resources says how public URIs are made, and which there are.
	Resources Resources `key:"resources"`

	// Tools holds the settings of tools for all servers.
	Tools Tools `key:"tools"`

	// Projects are named filters over the catalog, by name, each under `/p/<name>/mcp`. Default: none.
	Projects []Project `key:"projects"`

	// MetaTools says where the gateway's own tools for search and description are listed: auto (where a client sees more than 40 other
	// tools; elsewhere they are not listed, and can be called by name), all (everywhere; also written true), only (lists hold nothing
	// else) or false (there are none). Default: auto.
	MetaTools string `key:"metaTools" oneof:"auto|all|true|only|false"`

	// ValidateArguments is validateArguments of the servers that do not set it. Default: off.
	ValidateArguments string `key:"validateArguments" oneof:"off|refuse"`

	// ServerInfo is the name that the gateway gives itself to clients.
	ServerInfo ServerInfo `key:"serverInfo"`

	// Instructions are for the client's model, and stand before those of the servers. Default: the gateway's own.
	Instructions string `key:"instructions"`

	// PageSize is the number of items in a page of a list. Default: 1000.
	PageSize int `key:"pageSize" min:"1" max:"1000000"`

	// Limits of the whole gateway.
	Limits Limits `key:"limits"`

	// PublicURL is how clients reach us, scheme://host[:port][/path], where that is not an address we listen on: its host is
	// answered besides allowedHosts. With localhost or a loopback address in it, pages to log in at servers are there. Default: none.
	PublicURL string `key:"publicUrl"`

	// TrustedProxies are the addresses or networks of proxies in front of us: only their word is taken for who is behind them
	// (X-Forwarded-For, Forwarded, else X-Real-IP). It counts with auth only: without, what comes through a proxy or a tunnel is
	// refused, as it would let anybody in. Default: none.
	TrustedProxies []string `key:"trustedProxies" single:"ok"`

	// Auth says how clients prove who they are.
	Auth Auth `key:"auth"`

	// TLS says with which certificate we speak HTTPS.
	TLS TLS `key:"tls"`

	// Policy says what each client may see and do. Without the section everybody may do everything.
	Policy Policy `key:"policy"`

	// Audit says where it is kept who did what.
	Audit Audit `key:"audit"`

	// Egress says where the gateway may connect to on the word of others.
	Egress Egress `key:"egress"`

	// Drain is how long running calls may go on after SIGTERM or SIGINT. 0 ends them at once. Default: 10s.
	Drain time.Duration `key:"drain" in:"shutdown" min:"0s" max:"24h"`

	// Log says what is logged, to stderr, and how.
	Log Log `key:"log"`

	// EnvFile names files of variables, lines of NAME=value, beside this file: `${NAME}` means them too. What is set where the
	// gateway starts counts first; servers get none of them unless env says so. Others should not be able to read such a
	// file. Default: none. One may stand without brackets.
	EnvFile []string `key:"envFile" single:"ok"`

	Path  string   // the file it came from; "" = none
	Files []string // all files that were read for it, itself first

	Secrets secret.Values // what people are not to be shown: of what references stand for, and of what is written out
}

// Server is one entry of mcpServers. It has a command (a program that speaks on stdin and stdout) or URLs, never both.
//
// Do not print it whole: Env, Headers, Args and URLs may hold secrets. slog is safe, see LogValue.
type Server struct {
	Name    string // slug
	Written string // the name as the file has it
	Order   int    // place in the file, from 0
	Base    string // directory of the file, absolute: where a relative command is looked for first; "" = nowhere

	// Disabled keeps the entry without starting anything. Default: false.
	Disabled bool `key:"disabled" change:"connection"`

	// Description is a line for people and for search. Default: the server's own.
	Description string `key:"description"`

	// Command is the program to run. A bare name is found on PATH; one with a slash, such as `./server.py` or `bin/x`, beside this
	// file, and where it is not there in cwd. `~` and `$HOME` at its beginning are the home directory.
	// Default: none; then the server needs url.
	Command string `key:"command" change:"connection"`

	// Args are its arguments, exactly as written: 1.10 stays 1.10 and yes stays yes. Default: none.
	Args []string `key:"args" change:"connection"`

	// Env are its variables, by name, exactly as written, besides PATH, HOME, USER, LANG, TERM and TMPDIR,
	// which it always gets. Default: none.
	Env map[string]string `key:"env" secret:"yes" change:"connection"`

	// EnvFiles are files of variables it gets besides, lines of NAME=value, beside this file. env counts first, of several
	// files the last. Default: none. One may stand without brackets.
	EnvFiles []string `key:"envFile" single:"ok" change:"connection"`

	// InheritEnv hands it all variables of the gateway. Default: false.
	InheritEnv bool `key:"inheritEnv" change:"connection"`

	// Cwd is its working directory, also for paths among args. A relative one is beside this file; `~` and `$HOME` are the home
	// directory. Default: the gateway's.
	Cwd string `key:"cwd" change:"connection"`

	// Replicas is the number of processes that serve the one namespace; for URLs write several urls. Default: 1.
	Replicas int `key:"replicas" min:"1" max:"256" change:"connection"`

	// URLs are the addresses of a server that is reached over HTTP; several are replicas of one namespace.
	// Default: none; then the server needs command.
	URLs []string `key:"urls" also:"url" change:"connection"`

	// Type is how to speak to it: auto, http (streamable HTTP; also written streamable-http, streamableHttp),
	// sse (HTTP+SSE of 2024-11-05) or stdio. Default: auto, which is stdio for a command, and for a url http, or sse where
	// the server speaks nothing newer.
	Type string `key:"type" oneof:"auto|http|sse|stdio" change:"connection"`

	// Headers are sent with every HTTP request, by name. Accept-Encoding: identity turns off asking for gzip, which servers on
	// other machines are asked for; gzip turns it on for a server on this machine. Default: none.
	Headers map[string]string `key:"headers" secret:"yes" change:"connection"`

	// Protocol is the version to speak: auto, legacy (initialize and sessions), modern (stateless), or one exact
	// version such as 2025-11-25. Of a server that speaks both eras, auto takes the client's for a URL, the legacy one for a
	// process. Default: auto.
	Protocol string `key:"protocol" oneof:"auto|legacy|modern|2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28" change:"connection"`

	// Isolation is who shares a connection: shared (all clients), class (clients with the same capabilities),
	// principal (one user; where clients are not asked who they are, all are one), session (one client) or leased (one running call at a
	// time). What is listed comes from a connection that carries no calls of these; connections of a session end with it, others after
	// limits.sessionIdle without use: a subscription is use. Default: shared, for URLs class.
	Isolation string `key:"isolation" oneof:"shared|class|principal|session|leased" change:"connection"`

	// MaxBackends is the number of connections at most under isolation leased, session or principal, or with forwardHeaders. Then
	// one of another client makes room that is idle and has no subscriptions, else the call is refused. Default: 1, where clients have their own 64.
	MaxBackends int `key:"maxBackends" min:"1" max:"100000"`

	// MaxConcurrent is the number of calls in flight over all replicas; more wait in the queue. Calls parked at a
	// question do not count. 0 is no limit. Default: 64.
	MaxConcurrent int `key:"maxConcurrent" min:"0" max:"1000000"`

	// Queue bounds what waits for a free slot. Clients take turns in it.
	Queue Queue `key:"queue"`

	// StartTimeout is the time from start to complete catalog; npx may download in it. Default: 60s.
	StartTimeout time.Duration `key:"startTimeout" min:"1ms" max:"24h"`

	// Timeout ends a call that had neither an answer nor progress for so long, counted from its dispatch. It stands
	// still while a question to the user is open. 0 is none. Default: 30s.
	Timeout time.Duration `key:"timeout" min:"0s" max:"168h"`

	// MaxTimeout ends a call whatever its progress. It stands still like timeout. 0 is none. Default: 15m.
	MaxTimeout time.Duration `key:"maxTimeout" min:"0s" max:"168h"`

	// Balance chooses the replica of a call: round-robin or least-busy. Default: round-robin.
	Balance string `key:"balance" oneof:"round-robin|least-busy"`

	// Retry says what may be sent twice.
	Retry Retry `key:"retry"`

	// Reconnect bounds the pauses between attempts to connect.
	Reconnect Reconnect `key:"reconnect"`

	// Startup is eager (start with the gateway) or lazy (start with the first call, read or subscription; what it offers is
	// remembered, and a server that was never seen is started once to learn it). Default: eager.
	Startup string `key:"startup" oneof:"eager|lazy"`

	// IdleStop is how long a lazy server runs after it was last wanted: while no call, no subscription and no task runs.
	// Default: 10m.
	IdleStop time.Duration `key:"idleStop" min:"1ms" max:"8760h"`

	// Prefix stands before the names of its tools and prompts: letters, digits, `_` and `-`; `""` puts nothing before them.
	// Default: the server's name.
	Prefix string `key:"prefix"`

	// Tools chooses and renames its tools.
	Tools ServerTools `key:"tools"`

	// ValidateArguments says what becomes of a tool call whose arguments do not fit the tool's inputSchema: off (the server decides) or
	// refuse (it is answered with -32602 before anything is sent; the error names each fault and holds the schema). Default: that of the gateway.
	ValidateArguments string `key:"validateArguments" oneof:"off|refuse"`

	// Prompts chooses and renames its prompts.
	Prompts Filter `key:"prompts"`

	// ResourceFilter chooses its resources and templates, by URI. What a template leads to is judged, too, in every spelling of
	// the URI; where allow, deny or disabled stand, dot segments and encoded slashes are refused.
	ResourceFilter Filter `key:"resources"`

	// Roots are the URIs (file://…) this server is told when it asks for roots outside any call. Default: none.
	Roots []string `key:"roots"`

	// ForwardHeaders hand headers of the client's request to a server behind a URL, in place of headers of the same name. Requests that
	// bring other values never share a connection; those that bring none use the connections that are for everybody, where what is
	// listed comes from, too: give these what they need in headers. Default: none.
	ForwardHeaders []ForwardHeader `key:"forwardHeaders" change:"connection"`

	// Auth says how the gateway logs in at a server behind a URL.
	Auth ServerAuth `key:"auth" change:"connection"`

	// Labels are for clients that prefer replicas by label. Default: none.
	Labels map[string]string `key:"labels"`

	// Group makes all servers with the same group replicas of one namespace, called after the group. Each keeps how it is reached
	// (command, env, url, headers, protocol …), its replicas, startTimeout, reconnect, roots and labels; of everything else the first
	// member's counts. A tool that a member defines otherwise than the one whose list is shown is not called there. Default: none.
	Group string `key:"group" change:"connection"`

	// Members are the entries of a group, in the order of the file, where the server is one (Gather); else none.
	Members []Server

	// Fault is why this server cannot run (a missing variable …): it is shown as misconfigured, the rest runs.
	// "" = none. Never holds the value of a variable.
	Fault string
}

// ReplicaCount is how many replicas the server has: its URLs, or its processes. At least 1.
func (s *Server) ReplicaCount() int {
	if len(s.Members) > 0 {
		n := 0
		for i := range s.Members {
			n += s.Members[i].ReplicaCount()
		}
		return n
	}
	if len(s.URLs) > 0 {
		return len(s.URLs)
	}
	return max(1, s.Replicas)
}

// Forwarded are the names of all headers of clients that some server is to get.
func (c *Config) Forwarded() []string {
	var names []string
	for _, s := range c.Servers {
		for _, h := range s.ForwardHeaders {
			names = append(names, h.From)
		}
	}
	return names
}

// Isolates tells whether its connections are not for everybody: each client or user has its own, or those who send the same headers.
func (s *Server) Isolates() bool {
	return s.Isolation == "session" || s.Isolation == "principal" || len(s.ForwardHeaders) > 0
}

// LogValue keeps everything that may be secret out of logs.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Name) }

// Queue bounds what waits for a free slot of a server.
type Queue struct {
	// Size is the number of calls that may wait; of more, the newest of the client that has most of them waiting is refused
	// with QUEUE_FULL. 0 lets none wait. Default: 1024.
	Size int `key:"size" min:"0" max:"1000000"`

	// Timeout is how long a call may wait, then it is refused with QUEUE_TIMEOUT. Default: 10s.
	Timeout time.Duration `key:"timeout" min:"1ms" max:"24h"`
}

// Retry says what may be sent twice.
type Retry struct {
	// InFlight is about calls already written when the connection broke: never, or idempotent (those whose tool says
	// idempotentHint or readOnlyHint are sent once more, and so are reads, prompts and completions). A call whose server has
	// asked something is never sent again. Default: never.
	InFlight string `key:"inFlight" oneof:"never|idempotent"`
}

// Reconnect bounds the pauses between attempts.
type Reconnect struct {
	// Min is the first pause; each further one is longer, with jitter. The very first attempt is immediate if the
	// server had been ready for 5 s, and one at a URL is then tried a few times more in the first half second. Not above
	// max. Default: 500ms.
	Min time.Duration `key:"min" min:"1ms" max:"24h"`

	// Max is the longest pause. Default: 60s.
	Max time.Duration `key:"max" min:"1ms" max:"24h"`
}

// Filter chooses and renames items by the server's own names; patterns are globs with * and ?.
// It is the same for tools, prompts and resources.
type Filter struct {
	// Allow holds patterns; where there are any, only what one of them matches is left. Default: none.
	Allow []string `key:"allow"`

	// Deny removes what one of its patterns matches, also when allowed. Default: none.
	Deny []string `key:"deny"`

	// Disabled are the exact names that are off; goblin-actor enable and disable switch them. Default: none.
	Disabled []string `key:"disabled"`

	// Rename maps the server's own names to others, before the prefix. Default: none.
	Rename map[string]string `key:"rename"`
}

// ServerTools chooses and renames the tools of a server, and says what becomes of invalid ones.
type ServerTools struct {
	Filter

	// Invalid says what becomes of a tool whose inputSchema is not a valid JSON Schema with type object: hide (it is not listed and
	// cannot be called; status, doctor, describe and the log name it and the fault) or show (it is listed as it came). LLM providers
	// refuse a whole request because of one such tool. Of an invalid outputSchema hide leaves out that schema alone. Default: that of
	// the gateway.
	Invalid string `key:"invalid" oneof:"hide|show"`
}

// Tools are settings of tools for all servers.
type Tools struct {
	// Invalid is tools.invalid of the servers that do not set it. Default: hide.
	Invalid string `key:"invalid" oneof:"hide|show"`
}

// ForwardHeader hands a client's header to a server.
type ForwardHeader struct {
	// From is the client's header. Needed.
	From string `key:"from"`

	// To is the header the server gets. Default: the same.
	To string `key:"to"`

	// Prefix is put before the value, e.g. `"Bearer "`. Default: none.
	Prefix string `key:"prefix"`
}

// Namespace says how public names of tools and prompts are made.
type Namespace struct {
	// Mode says when the prefix is put before a name: always, on-conflict or never. Default: always.
	Mode string `key:"mode" oneof:"always|on-conflict|never"`

	// Separator stands between prefix and name: up to 8 letters, digits, `_` or `-`. Default: `_`.
	Separator string `key:"separator"`

	// MaxLength is the number of characters of a public name at most; longer ones are cut and get a hash. Default: 64.
	MaxLength int `key:"maxLength" min:"16" max:"256"`
}

// Resources says how public URIs are made.
type Resources struct {
	// URIStyle is prefix (`resource://<server>/<original URI>`), underscore (`<server>_<scheme>___<rest>`) or original.
	// Default: prefix.
	URIStyle string `key:"uriStyle" oneof:"prefix|underscore|original"`

	// Unlisted says which URIs of a server may be read and subscribed to that it neither lists nor has a template for:
	// mentioned (those it has given in a result, a notification or a tool's link), forward (any, under the server's name) or
	// refuse (none). What the server's resources deny or do not allow is refused in any case. Default: mentioned.
	Unlisted string `key:"unlisted" oneof:"mentioned|forward|refuse"`
}

// Project is a named filter over the catalog.
type Project struct {
	Name    string // slug
	Written string // the name as the file has it

	// Servers are the names of servers, or of groups, that it sees. Default: none; without servers and labels it sees all.
	Servers []string `key:"servers" single:"ok"`

	// Labels add the servers that carry all of these labels. Default: none.
	Labels map[string]string `key:"labels"`

	// Tools chooses tools by their public names; rename is not for projects.
	Tools Filter `key:"tools"`

	// Prompts chooses prompts by their public names; rename is not for projects.
	Prompts Filter `key:"prompts"`

	// Resources chooses resources and templates by their public URIs; rename is not for projects.
	Resources Filter `key:"resources"`

	// ServerInfo says what clients of the project are told the gateway is called. Default: that of the gateway.
	ServerInfo ServerInfo `key:"serverInfo"`

	// Instructions take the place of the gateway's for clients of the project. Default: those of the gateway.
	Instructions string `key:"instructions"`
}

// ServerInfo is the name that the gateway gives itself to clients.
type ServerInfo struct {
	// Name is for programs: what clients tell gateways apart by. Default: goblin-actor.
	Name string `key:"name"`

	// Title is for people. Default: none.
	Title string `key:"title"`
}
