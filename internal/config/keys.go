package config

import (
	"time"

	"goblin-actor/internal/secret"
)

// The struct types in the keys*.go files define the configuration file. Their tags are the schema, and their comments
// are the reference: decode.go, default.go, describe.go, diff.go, reference.go, schema.go and show.go read them.
//
//	key:"timeout"   the key in the file
//	in:"shutdown"   the section around the key, if the file nests deeper than the struct
//	also:"url"      a second key that takes one value instead of a list
//	default:"30s"   the default, as written in the file; without it the zero value
//	min, max        bounds, as written in the file
//	oneof:"a|b"     the allowed words
//	single:"ok"     a list with one element may be written without brackets
//	form:"bytes"    an integer that may be written with a unit, such as 64MiB
//	secret:"yes"    Show hides values that do not consist of references such as ${NAME}
//	change:"…"      "connection": a change reconnects the server; without the tag, connections stay
//
// A comment may end with "Default: …." to describe a default that depends on other keys, or with "Required."

// Config is the whole configuration file.
//
// Default returns a complete Config. Load reads a file on top of it.
type Config struct {
	// Listen is the address to listen on, as host:port, or a list of addresses. Port 0 picks a free port. Without
	// `auth`, only loopback addresses are allowed. With `auth`, other addresses also need `tls`, `trustedProxies` or
	// `tls: off`.
	Listen []string `key:"listen" single:"ok" default:"127.0.0.1:8730"`

	// AllowedOrigins are origins that may send requests, such as `https://app.example.org`, besides the gateway's
	// own. Responses to them have CORS headers. A request with another `Origin` header gets 403; one without the
	// header is accepted. Wildcards are not supported.
	AllowedOrigins []string `key:"allowedOrigins" single:"ok"`

	// AllowedHosts are values of the `Host` header to accept besides loopback names and addresses, the address that the
	// client connected to, the listen addresses and the host of `publicUrl`. A request with another `Host` header gets 403. Wildcards are not
	// supported.
	AllowedHosts []string `key:"allowedHosts" single:"ok"`

	// Servers are the MCP servers, by name. If two items would get the same public name, an item that already has the
	// name keeps it. Otherwise the item of the server that comes first in the file gets it. A server name that does
	// not match `[a-z0-9][a-z0-9-]*` is converted, with a warning. The name `goblin` is reserved.
	Servers []Server `key:"mcpServers"`

	// Namespace controls the public names of tools and prompts.
	Namespace Namespace `key:"namespace"`

	// Resources controls the public URIs of resources.
	Resources Resources `key:"resources"`

	// Tools holds settings for the tools of all servers.
	Tools Tools `key:"tools"`

	// Projects are named subsets of the catalog. Each is served at `/p/<name>/mcp`.
	Projects []Project `key:"projects"`

	// MetaTools selects where the gateway lists its own tools for searching and describing the catalog: `auto` (where a client sees more
	// than 40 other tools), `all` or `true` (everywhere), `only` (nothing else is listed) or `false` (disabled). Except with `false`,
	// clients can call them by name even where they are not listed.
	MetaTools string `key:"metaTools" oneof:"auto|all|true|only|false" default:"auto"`

	// ValidateArguments is the value for servers that do not set `validateArguments`.
	ValidateArguments string `key:"validateArguments" oneof:"off|refuse" default:"off"`

	// ServerInfo is the name and title that clients see.
	ServerInfo ServerInfo `key:"serverInfo"`

	// Instructions is text for the client's model. It precedes the instructions of the servers. With `metaTools:
	// only`, a built-in text on how to search the catalog follows it.
	Instructions string `key:"instructions"`

	// PageSize is the maximum number of items in one page of a list.
	PageSize int `key:"pageSize" min:"1" max:"1000000" default:"1000"`

	// Limits holds limits for the whole gateway.
	Limits Limits `key:"limits"`

	// PublicURL is the address that clients use, as `scheme://host[:port][/path]`, if it differs from the listen
	// addresses. Requests to its host are accepted as if the host were listed in `allowedHosts`. If the host is
	// `localhost` or a loopback address, the URLs of the pages for logging in to servers start with this address.
	PublicURL string `key:"publicUrl"`

	// TrustedProxies are addresses or networks of proxies whose X-Forwarded-For, Forwarded or X-Real-IP headers are
	// trusted. It needs `auth`. Without `auth`, the gateway refuses proxied requests.
	TrustedProxies []string `key:"trustedProxies" single:"ok"`

	// Auth controls how clients authenticate.
	Auth Auth `key:"auth"`

	// TLS holds the certificate for HTTPS. The value `off` allows plain HTTP on addresses that other machines can
	// reach.
	TLS TLS `key:"tls"`

	// Policy controls what each client may see and do. Without this section, everything is permitted.
	Policy Policy `key:"policy"`

	// Audit controls the audit log.
	Audit Audit `key:"audit"`

	// Admin restricts what operators may do through the admin socket.
	Admin Admin `key:"admin"`

	// Egress controls connections to the URLs that servers name for OAuth logins.
	Egress Egress `key:"egress"`

	// Cluster makes this gateway one node of a cluster. Without this section, the gateway runs alone.
	Cluster Cluster `key:"cluster"`

	// Drain is how long running calls may continue after SIGTERM, SIGINT or `goblin-actor drain`. 0 ends them at once.
	Drain time.Duration `key:"drain" in:"shutdown" min:"0s" max:"24h" default:"10s"`

	// Telemetry exports traces, metrics and logs with OpenTelemetry. A change takes effect at the next start.
	Telemetry Telemetry `key:"telemetry"`

	// Log controls the log, which goes to stderr.
	Log Log `key:"log"`

	// EnvFile names files with `NAME=value` lines, relative to this file. `${NAME}` may refer to their variables.
	// Variables that are set when the gateway starts take precedence. Servers do not get these variables unless their
	// `env` refers to them. Restrict who can read these files.
	EnvFile []string `key:"envFile" single:"ok"`

	Path  string   // file name; "" if there is no file
	Files []string // Path and the other files that Load read or could not read; nil after Parse

	Digest string // of the file as written, without the keys that differ between nodes (see digest); "" without cluster

	Secrets secret.Values // values to hide in output: secrets from references, the file and its envFiles
}

// Namespace controls the public names of tools and prompts.
type Namespace struct {
	// Mode selects which names get their server's prefix: `always`, `on-conflict` or `never`.
	Mode string `key:"mode" oneof:"always|on-conflict|never" default:"always"`

	// Separator is placed between prefix and name: one to eight letters, digits, `_` or `-`.
	Separator string `key:"separator" default:"_"`

	// MaxLength is the maximum number of characters in a public name. A longer name is shortened and ends with a
	// hash.
	MaxLength int `key:"maxLength" min:"16" max:"256" default:"64"`
}

// Resources controls the public URIs of resources.
type Resources struct {
	// URIStyle is the form of public URIs: `prefix` (`resource://<server>/<original URI>`), `underscore` (`<server>_<scheme>___<rest>`)
	// or `original` (the server's own URI).
	URIStyle string `key:"uriStyle" oneof:"prefix|underscore|original" default:"prefix"`

	// Unlisted selects which URIs clients may read and subscribe to although the server neither lists them nor has a
	// matching template: `mentioned` (URIs that the server has sent in a result or notification), `forward` (all) or
	// `refuse` (none). The server's `resources` filter always applies.
	Unlisted string `key:"unlisted" oneof:"mentioned|forward|refuse" default:"mentioned"`
}

// Tools holds settings for the tools of all servers.
type Tools struct {
	// Invalid is the value for servers that do not set `tools.invalid`.
	Invalid string `key:"invalid" oneof:"hide|show" default:"hide"`
}

// Project is a named subset of the catalog. A project is a filter, not a security boundary.
type Project struct {
	Name    string // slug
	Written string // name as written in the file

	// Servers lists the servers or groups in the project. Without `servers` and `labels`, the project contains all servers.
	Servers []string `key:"servers" single:"ok"`

	// Labels adds the servers that have all of these labels.
	Labels map[string]string `key:"labels"`

	// Tools filters tools by public name. `rename` is not allowed here.
	Tools Filter `key:"tools"`

	// Prompts filters prompts by public name. `rename` is not allowed here.
	Prompts Filter `key:"prompts"`

	// Resources filters resources and templates by public URI. `rename` is not allowed here.
	Resources Filter `key:"resources"`

	// ServerInfo is the name and title that clients of the project see. Default: the gateway's.
	ServerInfo ServerInfo `key:"serverInfo"`

	// Instructions replaces the gateway's `instructions` for clients of the project. Default: the gateway's.
	Instructions string `key:"instructions"`
}

// ServerInfo is the name and title that the gateway reports to clients.
type ServerInfo struct {
	// Name identifies the gateway to programs. Default: goblin-actor.
	Name string `key:"name"`

	// Title is the name to display to users.
	Title string `key:"title"`
}
