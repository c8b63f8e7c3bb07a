package pool

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"

	"goblin-actor/internal/config"
)

// CatalogIdentity identifies what a server's catalog depends on, whatever name it is configured under: the program
// with its arguments and variables, or the URLs with their headers. A group's identity depends on its running
// members. Unlike for an era, the values count, since another account or database may offer other tools. The
// result is a hash, which keeps secrets out of the state file.
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
