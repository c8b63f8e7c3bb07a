package pool

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"

	"goblin-actor/internal/config"
)

// CatalogIdentity returns a hash of what a server's catalog depends on: the program with its arguments, working
// directory and environment variables, or the URLs with their headers. It does not depend on the server's name. A
// group's identity depends on its members, except disabled and misconfigured ones. Unlike eraIdentity, it includes
// the values of variables and headers, since a different account or database may offer different tools. Hashing keeps
// secrets out of the state file.
func CatalogIdentity(server config.Server) string {
	var members []string
	for _, m := range server.Members {
		if !m.Disabled && m.Fault == "" {
			members = append(members, CatalogIdentity(m))
		}
	}
	raw, err := json.Marshal(struct {
		Command, Cwd string
		Args, URLs   []string
		Env, Headers map[string]string
		InheritEnv   bool
		Members      []string `json:",omitempty"`
	}{server.Command, server.Cwd, server.Args, server.URLs, server.Env, server.Headers, server.InheritEnv, members})
	if err != nil {
		panic("catalog identity: " + err.Error()) // strings always marshal
	}
	sum := sha256.Sum256(raw)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}
