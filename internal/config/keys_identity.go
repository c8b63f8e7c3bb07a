package config

import "time"

// Auth controls how clients authenticate. Without it, clients are not authenticated, so the gateway listens on loopback addresses only.
type Auth struct {
	// Keys is the file with the hashes of API keys, relative to this file. `goblin-actor key new` writes it. Changes apply at once. Other
	// users must not be able to read it.
	Keys string `key:"keys"`
}

// On reports whether clients must authenticate.
func (a Auth) On() bool { return a.Keys != "" }

// TLS sets the certificate for HTTPS. `tls: off` allows plain HTTP on addresses that other machines can reach.
type TLS struct {
	// Cert is the file with the certificate chain (PEM), relative to this file. A new certificate is used without a restart.
	Cert string `key:"cert"`

	// Key is the file with the private key (PEM).
	Key string `key:"key"`

	Off bool // the file says `tls: off`
}

// On reports whether the gateway serves HTTPS.
func (t TLS) On() bool { return t.Cert != "" }

// Policy controls what each client may see and do. Anything no role permits is invisible to the client.
type Policy struct {
	Present bool // the file has the section, so roles decide what is permitted

	// Mode is `enforce`, or `report` to permit everything and log what would have been denied.
	Mode string `key:"mode" oneof:"enforce|report" default:"enforce"`

	// Roles are sets of permissions, by name.
	Roles []Role `key:"roles"`

	// Bind assigns roles to clients, in addition to the roles that API keys name themselves.
	Bind []Binding `key:"bind"`
}

// Role is a set of permissions. A client with several roles may do everything that at least one of them permits.
type Role struct {
	Name    string // slug
	Written string // name as written in the file

	// Servers are globs for the names of the servers that the role covers. Default: all.
	Servers []string `key:"servers" single:"ok"`

	// Projects limits the role to these projects. Default: none; the role applies everywhere.
	Projects []string `key:"projects" single:"ok"`

	// Tools filters tools by public name. A glob with a slash matches `server/tool`, where `tool` is the server's own
	// name for the tool. `rename` and `disabled` are not allowed here. Default: all.
	Tools Filter `key:"tools"`

	// Prompts filters prompts in the same way.
	Prompts Filter `key:"prompts"`

	// Resources filters resources and templates by public URI.
	Resources Filter `key:"resources"`

	// ReadOnly permits only tools with `readOnlyHint` and those in `readOnlyTools`.
	ReadOnly bool `key:"readOnly"`

	// ReadOnlyTools are globs for tools to treat as read-only. It needs `readOnly`.
	ReadOnlyTools []string `key:"readOnlyTools" single:"ok"`

	// Rate is the maximum number of requests of one principal, such as `60/min` (units s, min, h). More are refused
	// with RATE_LIMITED. If several roles set a rate, the highest applies. Default: no limit.
	Rate string `key:"rate"`

	// ToolRate is the maximum number of calls of each tool by one principal, written like `rate`. If several roles
	// that permit the tool set one, the highest applies. Default: no limit.
	ToolRate string `key:"toolRate"`

	// Admin permits more than MCP: `view` permits `/metrics` and the names of servers in `/readyz`. `act` also permits logging in to servers
	// for all clients. The admin socket is not affected.
	Admin string `key:"admin" oneof:"none|view|act" default:"none"`
}

// Path returns the role's path in the file, as used by origins.
func (r *Role) Path() string { return join("policy.roles", r.Written) }

// Binding assigns a role to clients. A client needs to match `keys` or `local`.
type Binding struct {
	// Role is the name of the role. Required.
	Role string `key:"role"`

	// Keys are globs for the names of API keys.
	Keys []string `key:"keys" single:"ok"`

	// Local matches clients that are not authenticated: on stdin, in a Go program that embeds the gateway, and on loopback
	// without `auth`.
	Local bool `key:"local"`
}

// Admin restricts what operators may do through the admin socket.
type Admin struct {
	// Payloads permits keeping the payloads of the next calls of a server for 10 minutes, for debugging.
	Payloads bool `key:"payloads" default:"true"`
}

// Audit controls the audit log, which records who called what.
type Audit struct {
	// File is the audit log (JSON lines), relative to this file. Default: none; there is no audit log.
	File string `key:"file"`

	// When selects when a call is recorded: `end` (when it ends) or `both` (also when it starts).
	When string `key:"when" oneof:"end|both" default:"end"`

	// Sync selects when lines are flushed to disk: `1s` (about a second after the call), `each` (before the call is answered) or `never` (the system
	// decides).
	Sync string `key:"sync" oneof:"1s|each|never" default:"1s"`

	// Required refuses calls while the log cannot be written. Otherwise lines are dropped and counted.
	Required bool `key:"required"`

	// Rotate controls when a new file is started.
	Rotate Rotate `key:"rotate"`
}

// Rotate controls when a new audit log file is started, and how many old files are kept.
type Rotate struct {
	// Size is the size from which a file is rotated, after a write.
	Size int64 `key:"size" form:"bytes" min:"64KiB" max:"1TiB" default:"100MiB"`

	// Age is the age from which a file is rotated, after the next write. 0 means no limit.
	Age time.Duration `key:"age" min:"0s" max:"87600h" default:"0s"`

	// Keep is the number of old files to keep. 0 keeps all.
	Keep int `key:"keep" min:"0" max:"100000" default:"0"`
}

// Egress controls connections to the URLs that servers name for OAuth logins.
type Egress struct {
	// Allow lists addresses, networks (`10.0.0.0/8`) or host names in private networks that a server may name for its
	// metadata, login page or token endpoint. A change applies after a restart.
	Allow []string `key:"allow" single:"ok"`
}
