package config

import "time"

// Auth says how clients prove who they are. Without it nobody is asked, and only loopback addresses are listened on.
type Auth struct {
	// Keys is the file of API keys, beside this file; `goblin-actor key new` writes it. It is watched: a new or revoked key counts
	// at once. Others may not be able to read it. Default: none.
	Keys string `key:"keys"`
}

// On reports whether clients are asked who they are.
func (a Auth) On() bool { return a.Keys != "" }

// TLS says with which certificate we speak HTTPS. `tls: off` says that plain HTTP is meant, also where others can listen in.
type TLS struct {
	// Cert is the file of the certificate chain (PEM), beside this file; a new one is taken without restart. Default: none.
	Cert string `key:"cert"`

	// Key is the file of its private key (PEM). Default: none.
	Key string `key:"key"`

	Off bool // the file says `tls: off`
}

// On reports whether clients speak HTTPS.
func (t TLS) On() bool { return t.Cert != "" }

// Policy says what each client may see and do. What no role permits is as if it were not there.
type Policy struct {
	Present bool // the file has the section: what is not permitted is denied

	// Mode is enforce, or report (nothing is refused, and the log says what would have been). Default: enforce.
	Mode string `key:"mode" oneof:"enforce|report"`

	// Reveal names the rule in the error POLICY_DENIED. Default: false.
	Reveal bool `key:"reveal"`

	// Roles are sets of permissions, by name. Default: none.
	Roles []Role `key:"roles"`

	// Bind says who has which role, besides the roles that a key names itself. Default: none.
	Bind []Binding `key:"bind"`
}

// Role is a set of permissions. Who has several may do what any of them permits.
type Role struct {
	Name    string // slug
	Written string // the name as the file has it

	// Servers are globs over the names of the servers that it covers. Default: none; without servers it covers all.
	Servers []string `key:"servers" single:"ok"`

	// Projects are the only projects in which it counts. Default: none; then it counts in all, and outside of projects.
	Projects []string `key:"projects" single:"ok"`

	// Tools are globs over public names of tools, or server/tool; a glob with a slash means the server's own name. rename and disabled
	// are not for roles. Default: all.
	Tools Filter `key:"tools"`

	// Prompts are likewise for prompts.
	Prompts Filter `key:"prompts"`

	// Resources are globs over public URIs of resources and templates.
	Resources Filter `key:"resources"`

	// ReadOnly permits only tools that say readOnlyHint, or that readOnlyTools names. Default: false.
	ReadOnly bool `key:"readOnly"`

	// ReadOnlyTools are globs over tools that only read, whatever they say of themselves; for a role with readOnly. Default: none.
	ReadOnlyTools []string `key:"readOnlyTools" single:"ok"`

	// Rate is how many requests one principal with the role may send, such as 60/min (s, min, h); more are refused with
	// RATE_LIMITED. Of several roles that say it the most generous counts. Default: none.
	Rate string `key:"rate"`

	// ToolRate is how many calls of one tool one principal may make, written like rate. Of several roles that permit the tool and say
	// it the most generous counts. Default: none.
	ToolRate string `key:"toolRate"`

	// Admin is what it permits of what operators do: none, view or act. Default: none.
	Admin string `key:"admin" oneof:"none|view|act"`
}

// Binding gives a role to principals. Each list that is written widens it.
type Binding struct {
	// Role is the name of the role. Needed.
	Role string `key:"role"`

	// Keys are globs over the names of API keys. Default: none.
	Keys []string `key:"keys" single:"ok"`

	// Local gives it to whoever is not asked: clients on stdin, and on loopback without auth. Default: false.
	Local bool `key:"local"`
}

// Audit says where it is kept who did what.
type Audit struct {
	// File is the audit log, JSON lines, beside this file. Default: none.
	File string `key:"file"`

	// When is end (one line a call, at its end) or both (one before, too). Default: end.
	When string `key:"when" oneof:"end|both"`

	// Sync is when lines reach the disk: 1s (within a second), each (before the call is answered) or never (the system decides).
	// Default: 1s.
	Sync string `key:"sync" oneof:"1s|each|never"`

	// Required refuses calls while the log cannot be written; else lines are dropped and counted. Default: false.
	Required bool `key:"required"`

	// Rotate says when a new file begins.
	Rotate Rotate `key:"rotate"`
}

// Rotate says when a new file begins, and how many old ones stay.
type Rotate struct {
	// Size of a file at most, written with a unit. Default: 100MiB.
	Size int64 `key:"size" form:"bytes" min:"64KiB" max:"1TiB"`

	// Age of a file at most. 0 = any. Default: 0.
	Age time.Duration `key:"age" min:"0s" max:"87600h"`

	// Keep is how many old files stay. 0 = all. Default: all.
	Keep int `key:"keep" min:"0" max:"100000"`
}

// Egress says where the gateway may connect to on the word of others.
type Egress struct {
	// Allow are addresses, networks (10.0.0.0/8) or names of hosts that may be private although a server, not this file, names
	// them: metadata, login pages, tokens. A change takes effect at the next start. Default: none.
	Allow []string `key:"allow" single:"ok"`
}

// ServerAuth says how the gateway logs in at a server behind a URL.
type ServerAuth struct {
	// Type is auto (as the server asks for: oauth when it names where to log in), none, oauth (a person logs in:
	// `goblin-actor login`) or client (client credentials). Default: auto.
	Type string `key:"type" oneof:"auto|none|oauth|client" change:"connection"`

	// As is whose login calls use: shared (one for all) or principal (each client's own). Default: shared.
	As string `key:"as" oneof:"shared|principal" change:"connection"`

	// CatalogAs is whose login lists what there is, under as principal: client (the client credentials of clientId and
	// clientSecret) or shared (a login of its own). Default: shared.
	CatalogAs string `key:"catalogAs" oneof:"shared|client" change:"connection"`

	// ClientID is our id at the authorization server. Default: none; then we register, or use clientMetadataUrl.
	ClientID string `key:"clientId" change:"connection"`

	// ClientSecret goes with it. Default: none.
	ClientSecret string `key:"clientSecret" secret:"yes" change:"connection"`

	// ClientMetadataURL is an https URL of ours that describes us (client id metadata document). Default: none.
	ClientMetadataURL string `key:"clientMetadataUrl" change:"connection"`

	// Scopes are asked for instead of those that the server names. Default: none.
	Scopes []string `key:"scopes" single:"ok" change:"connection"`

	// Issuer is the only authorization server that is believed. Default: none; then the one that the server names.
	Issuer string `key:"issuer" change:"connection"`
}

// Path is where the role stands in the file, as origins name it.
func (r *Role) Path() string { return join("policy.roles", r.Written) }
