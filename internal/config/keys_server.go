package config

import (
	"log/slog"
	"slices"
	"time"
)

// Server is one entry of mcpServers. It has either `command` (a program that speaks MCP on stdin and stdout) or `url`.
//
// Do not print a Server whole: Env, Headers, Args and URLs may hold secrets. LogValue makes it safe to log.
type Server struct {
	Name    string // slug
	Written string // name as written in the file
	Order   int    // position in the file, from 0
	Base    string // absolute directory of the file, against which a relative command is resolved first; "" if unknown

	// Disabled keeps the entry but does not start the server.
	Disabled bool `key:"disabled" change:"connection"`

	// Description is one line for users and for search. Default: the server's own.
	Description string `key:"description"`

	// Command is the program to run. A name without a slash is looked up on PATH. A relative path such as
	// `./server.py` is resolved against the directory of this file, then against `cwd`. A leading `~` or `$HOME`
	// stands for the home directory.
	Command string `key:"command" change:"connection"`

	// Args are the arguments of `command`. Except for references, they are passed exactly as written: `1.10` stays `1.10` and
	// `yes` stays `yes`.
	Args []string `key:"args" change:"connection"`

	// Env are environment variables for `command`. Except for references, values are passed exactly as written. The gateway's
	// PATH, HOME, USER, LANG, TERM and TMPDIR are passed on unless they are set here, and on Windows a few more, such as USERPROFILE.
	Env map[string]string `key:"env" secret:"yes" change:"connection"`

	// EnvFiles names files with `NAME=value` lines, relative to this file, whose variables are added to the
	// environment of `command`. `env` takes precedence, and later files override earlier ones.
	EnvFiles []string `key:"envFile" single:"ok" change:"connection"`

	// InheritEnv passes all environment variables of the gateway to `command`, except those that systemd uses to talk to
	// the gateway, such as NOTIFY_SOCKET.
	InheritEnv bool `key:"inheritEnv" change:"connection"`

	// Cwd is the working directory of `command`, relative to this file. Relative paths in `args` refer to it. A leading `~` or `$HOME`
	// stands for the home directory. Default: the gateway's.
	Cwd string `key:"cwd" change:"connection"`

	// Replicas is the number of processes of `command` that serve calls. For several addresses, use `urls`.
	Replicas int `key:"replicas" min:"1" max:"256" default:"1" change:"connection"`

	// URLs is the address of a server that is reached over HTTP. Several addresses are replicas of the same server.
	URLs []string `key:"urls" also:"url" change:"connection"`

	// Type is the transport: `auto`, `http` (Streamable HTTP; also written `streamable-http` or `streamableHttp`), `sse` (HTTP+SSE of
	// 2024-11-05) or `stdio`. `auto` uses stdio for a command. For a URL it tries `http`, then `sse`.
	Type string `key:"type" oneof:"auto|http|sse|stdio" default:"auto" change:"connection"`

	// Headers are sent with every HTTP request, except those that the protocol sets itself, such as Accept. By default, only servers on other machines are asked for
	// gzip-compressed responses. `Accept-Encoding: identity` turns this off, and `Accept-Encoding: gzip` turns it on
	// for a server on this machine.
	Headers map[string]string `key:"headers" secret:"yes" change:"connection"`

	// Protocol is the protocol version to speak: `auto`, `legacy` (versions with initialize and sessions), `modern` (the stateless version)
	// or one exact version. If a server supports both eras, `auto` uses the client's era for a URL and `legacy` for a command.
	Protocol string `key:"protocol" oneof:"auto|legacy|modern|2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28" default:"auto" change:"connection"`

	// Isolation selects which clients share a connection: `shared` (all), `class` (clients with the same
	// capabilities), `principal` (clients of the same principal with the same capabilities; without `auth`, all clients count
	// as one principal), `session` (none) or `leased` (none while a call runs). Under `principal` and `session`, the catalog is read over a separate
	// connection. A session's connection is closed with the session. Other clients' connections are closed after
	// `limits.sessionIdle` without calls and subscriptions, or after 10 minutes if that is less and the clients have
	// separate logins or forwarded headers. Default: shared for commands, class for URLs.
	Isolation string `key:"isolation" oneof:"shared|class|principal|session|leased" default:"shared" change:"connection"`

	// MaxBackends is the maximum number of connections with isolation `leased`, `principal` or `session`, or with `forwardHeaders`. At the
	// limit, calls of `leased` servers wait in the queue. For the others, another client's idle connection without subscriptions is
	// closed. If there is none, the call is refused.
	// Default: 1 for leased, 64 for the others.
	MaxBackends int `key:"maxBackends" min:"1" max:"100000" default:"1"`

	// MaxConcurrent is the maximum number of running calls over all replicas. Further calls wait in the queue. Calls that
	// wait for their clients to answer a server request do not count. 0 means no limit.
	MaxConcurrent int `key:"maxConcurrent" min:"0" max:"1000000" default:"64"`

	// Queue limits the calls that wait for a free slot. Clients take turns.
	Queue Queue `key:"queue"`

	// StartTimeout is the maximum time from starting a server to having read its complete catalog. It includes
	// downloads by npx or uvx.
	StartTimeout time.Duration `key:"startTimeout" min:"1ms" max:"24h" default:"1m"`

	// Timeout ends a call after this time without a response or progress, counted from dispatch. It pauses while the call
	// waits for its client to answer a server request. 0 means no limit.
	Timeout time.Duration `key:"timeout" min:"0s" max:"168h" default:"30s"`

	// MaxTimeout ends a call after this time even if it reports progress. It pauses like `timeout`. 0 means no limit.
	MaxTimeout time.Duration `key:"maxTimeout" min:"0s" max:"168h" default:"15m"`

	// Balance selects the replica for a call.
	Balance string `key:"balance" oneof:"round-robin|least-busy" default:"round-robin"`

	// Retry controls which calls may be resent.
	Retry Retry `key:"retry"`

	// Reconnect controls the delay between connection attempts.
	Reconnect Reconnect `key:"reconnect"`

	// Startup is `eager` (start with the gateway) or `lazy` (start on the first call, read or subscription). The catalog of a lazy server is
	// cached. If it has never been read, the server is started once to read it.
	Startup string `key:"startup" oneof:"eager|lazy" default:"eager"`

	// IdleStop stops a lazy server after this time without calls, subscriptions and tasks.
	IdleStop time.Duration `key:"idleStop" min:"1ms" max:"8760h" default:"10m"`

	// Prefix is prepended to the names of tools and prompts: letters, digits, `_` and `-`. `""` means no prefix.
	// Default: the server's name.
	Prefix string `key:"prefix"`

	// Tools filters and renames tools.
	Tools ServerTools `key:"tools"`

	// ValidateArguments selects what happens to a tool call whose arguments do not match the tool's `inputSchema`: `off` (the call is
	// forwarded) or `refuse` (it gets error -32602 with the mismatches and the schema). Default: the gateway's.
	ValidateArguments string `key:"validateArguments" oneof:"off|refuse"`

	// Prompts filters and renames prompts.
	Prompts Filter `key:"prompts"`

	// ResourceFilter filters resources and templates by URI. It also applies to URIs that match a template, however
	// they are spelled. With `allow`, `deny` or `disabled`, URIs with dot segments or encoded slashes are refused.
	ResourceFilter Filter `key:"resources"`

	// Roots are URIs (`file://…`) to send if the server requests roots outside a call.
	Roots []string `key:"roots"`

	// ForwardHeaders copies headers of the client's request to requests to a URL. They replace `headers` of the same name. Requests
	// with different values never share a connection. The catalog, and requests without these headers, use connections
	// that send `headers` only.
	ForwardHeaders []ForwardHeader `key:"forwardHeaders" change:"connection"`

	// Auth controls how the gateway logs in to a server with a URL.
	Auth ServerAuth `key:"auth" change:"connection"`

	// Labels are used by projects, and by clients that prefer certain replicas.
	Labels map[string]string `key:"labels"`

	// Group makes all servers of a group replicas of one server with the group's name. Each member keeps its
	// connection settings (`command`, `env`, `url`, `headers`, `protocol` and so on), `disabled`, `replicas`,
	// `startTimeout`, `reconnect`, `roots`, `labels` and `run`. The first member's value applies to all other keys. A call never goes to a
	// member whose definition of the tool differs from the listed one.
	Group string `key:"group" change:"connection"`

	// Run selects where the server runs in a cluster: `each` (on every node), `one` (on one node at a time, and on another one if that fails) or the name of
	// a node. `one` requires `cluster.voters` or `cluster.nats`. A node need not exist when the file is read: until it joins the cluster, calls of the
	// server are refused with SERVER_UNAVAILABLE. Without `cluster`, this key has no effect. In a `group`, each member
	// has its own; a member that has the name of the group requires `each`.
	// Default: each for URLs; in a cluster, a command requires the key.
	Run string `key:"run" change:"connection"`

	// Hop is the name of the node that runs this server, if another node of the cluster does, or if the server is a member of a group that
	// runs on one node, which may be this one. URLs is then the server's address there. It is not in the file. "" = this gateway runs the
	// server.
	Hop string

	// HopReplicas is the number of replicas on the node Hop. It is not in the file. 0 = Hop is "".
	HopReplicas int

	// Shared says that other nodes of the cluster use the same server over connections of their own. It is not in the file.
	Shared bool

	// Away is this server as the node in Hop uses it, if all nodes share its logins (run: one); else nil. It is not in the file. This
	// gateway logs in with it, but makes no other requests.
	Away *Server

	// MemberOf is the group whose member this server is, if it stands for the member on the node that runs it: clients do not see it, and all nodes
	// of the cluster reach it as part of the group. It is not in the file.
	MemberOf string

	// Embedded is the number of the Go function that serves this server in a program with an embedded gateway. 0 means that the
	// server is a command or a URL.
	Embedded uint64

	// Members are the group's entries in file order if this server stands for a group (see Gather).
	Members []Server

	// Fault says why this server is misconfigured, such as a missing variable; "" if it can run. It never holds the value of
	// a variable.
	Fault string
}

// Queue limits the calls that wait for a free slot of a server.
type Queue struct {
	// Size is the maximum number of waiting calls. At the limit, the newest call of the client with the most waiting calls is refused
	// with QUEUE_FULL. 0 disables the queue.
	Size int `key:"size" min:"0" max:"1000000" default:"1024"`

	// Timeout refuses a call with QUEUE_TIMEOUT after it has waited this long.
	Timeout time.Duration `key:"timeout" min:"1ms" max:"24h" default:"10s"`
}

// Retry controls which calls may be resent.
type Retry struct {
	// InFlight selects which calls are resent, once, if the connection breaks after they were sent: `never` (none) or
	// `idempotent` (calls of tools with idempotentHint or readOnlyHint, reads, prompts and completions). A call is
	// not resent if its server has already sent the client a request during the call.
	InFlight string `key:"inFlight" oneof:"never|idempotent" default:"never"`
}

// Reconnect controls the delay between connection attempts. After a connection that lasted at least 5 s, the first
// attempt is immediate. For a URL, a few more attempts follow within half a second.
type Reconnect struct {
	// Min is the first delay. Each further delay is up to twice as long, with jitter. It must not exceed `max`.
	Min time.Duration `key:"min" min:"1ms" max:"24h" default:"500ms"`

	// Max is the longest delay.
	Max time.Duration `key:"max" min:"1ms" max:"24h" default:"1m"`
}

// Filter selects and renames tools, prompts or resources by the names that the server gives them. Patterns are globs with `*` and `?`.
type Filter struct {
	// Allow keeps only items that match one of these patterns. Default: all.
	Allow []string `key:"allow"`

	// Deny removes items that match one of these patterns, even if `allow` matches too.
	Deny []string `key:"deny"`

	// Disabled removes items that match one of these names or patterns, even if `allow` matches too. `goblin-actor disable` and `enable`
	// edit the list of `tools`.
	Disabled []string `key:"disabled"`

	// Rename maps the server's names to new names, before the prefix is added.
	Rename map[string]string `key:"rename"`
}

// ServerTools filters and renames the tools of a server, and handles invalid ones.
type ServerTools struct {
	Filter

	// Invalid selects what happens to a tool whose `inputSchema` is not a JSON Schema of type object: `hide` (it is neither listed nor
	// callable; status, doctor, describe and the log name the error) or `show`. LLM providers reject a whole request because of one such
	// tool. If only the `outputSchema` is invalid, `hide` omits that schema. Default: the gateway's.
	Invalid string `key:"invalid" oneof:"hide|show"`
}

// ForwardHeader copies one header of the client's request to requests to the server.
type ForwardHeader struct {
	// From is the name of the client's header. Required.
	From string `key:"from"`

	// To is the name of the header in requests to the server. Default: the same name.
	To string `key:"to"`

	// Prefix is prepended to the value, for example `"Bearer "`.
	Prefix string `key:"prefix"`
}

// ServerAuth controls how the gateway logs in to a server with a URL.
type ServerAuth struct {
	// Type is `auto` (`oauth` if the server names an authorization server and is sent no Authorization header), `none`, `oauth` (a user logs in with `goblin-actor login`) or
	// `client` (client credentials).
	Type string `key:"type" oneof:"auto|none|oauth|client" default:"auto" change:"connection"`

	// As selects the login that calls use: `shared` (one for all clients) or `principal` (one for each principal).
	As string `key:"as" oneof:"shared|principal" default:"shared" change:"connection"`

	// CatalogAs selects the login with which the catalog is read under `as: principal`: `shared` (a separate user
	// login) or `client` (client credentials with `clientId` and `clientSecret`).
	CatalogAs string `key:"catalogAs" oneof:"shared|client" default:"shared" change:"connection"`

	// ClientID is the gateway's client ID at the authorization server. Default: none; the gateway uses `clientMetadataUrl`,
	// or registers itself.
	ClientID string `key:"clientId" change:"connection"`

	// ClientSecret is the secret for `clientId`.
	ClientSecret string `key:"clientSecret" secret:"yes" change:"connection"`

	// ClientMetadataURL is an https URL of a client ID metadata document that describes this gateway.
	ClientMetadataURL string `key:"clientMetadataUrl" change:"connection"`

	// Scopes are requested instead of the scopes that the server names. `offline_access` is added if the authorization
	// server announces it.
	Scopes []string `key:"scopes" single:"ok" change:"connection"`

	// Issuer is the only authorization server to trust. Default: the one that the server names.
	Issuer string `key:"issuer" change:"connection"`
}

// HopURL returns the address at which another node of the cluster serves the server.
func (s *Server) HopURL(node string) string { return "https://" + node + "/s/" + s.Name + "/mcp" }

// ReplicaCount returns the number of replicas: addresses, processes or, for a group, those of all members. It is at least 1.
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

// Forwarded returns the names of all client headers that are forwarded to some server.
func (c *Config) Forwarded() []string {
	var names []string
	for _, s := range c.Servers {
		for _, h := range s.ForwardHeaders {
			names = append(names, h.From)
		}
	}
	return names
}

// Remote reports whether the server is reached over HTTP, so that it is the same one for every node of a cluster. A group
// is remote if all its members are, and no node runs one of them for the others.
func (s *Server) Remote() bool {
	if len(s.Members) > 0 {
		return !slices.ContainsFunc(s.Members, func(m Server) bool { return len(m.URLs) == 0 || m.Hop != "" })
	}
	return len(s.URLs) > 0
}

// Hops reports whether requests to the server, or to some member of a group, pass through the node that runs it.
func (s *Server) Hops() bool {
	return s.Hop != "" || slices.ContainsFunc(s.Members, func(m Server) bool { return m.Hop != "" })
}

// Isolates reports whether clients get separate connections: per session, per principal or per set of forwarded headers.
func (s *Server) Isolates() bool {
	return s.Isolation == "session" || s.Isolation == "principal" || len(s.ForwardHeaders) > 0
}

// LogValue returns only the name, so that secrets do not reach the log.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Name) }
