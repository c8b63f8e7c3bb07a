package gateway

import (
	"fmt"
	"log/slog"
	"net/http"

	"goblin-actor/internal/config"
	"goblin-actor/internal/serving"
	"goblin-actor/protocol/downstream"
)

// Handler returns the gateway's MCP endpoint, Streamable HTTP in both protocol eras, for the program's own server:
//
//	mux.Handle("/mcp", authenticate(g.Handler()))
//
// It serves every path that ends with /mcp, and / after http.StripPrefix: /p/NAME/mcp for a project, /s/NAME/mcp for
// one server, and everything else for the whole catalog. Mount it under "/" or "/mcp/" to serve all of these paths.
//
// With "auth" in File or YAML, the handler requires API keys and applies the policy of their roles. Without it, the
// handler does not authenticate: every client that the program lets through has the rights of the program (local:
// true). Such clients also share a principal, so a policy cannot tell them apart.
//
// A request from a web page of another origin is refused unless "allowedOrigins" lists the origin. On a loopback
// address, a request is also refused if its Host is neither a loopback name nor in "allowedHosts". If "allowedHosts" or
// "publicUrl" is set, every address accepts only loopback names, its own IP address, and the hosts that these keys name.
// The limits on messages, buffers, sessions and slow readers are those of the configuration. The limits on connections
// and headers are those of the program's http.Server; its WriteTimeout does not end streams. A middleware must leave
// http.Flusher reachable, or clients get no progress and no streams.
//
// After Close or Stop, requests are refused with status 503. HTTP+SSE of 2024-11-05 is not supported.
func (g *Gateway) Handler() http.Handler { return g.mount }

// newMount returns the handler and the settings that authenticate its clients. The settings are nil without "auth".
func (g *Gateway) newMount(cfg *config.Config, log *slog.Logger) (*downstream.Mount, *serving.Security, error) {
	o := downstream.Options{
		AllowedOrigins: cfg.AllowedOrigins, AllowedHosts: cfg.Hosts(), MaxMessageBytes: int(cfg.Limits.MaxMessageBytes), Budget: g.actors.Budget(),
	}
	var security *serving.Security
	if cfg.Auth.Keys != "" {
		own := *cfg
		own.Cluster = config.Cluster{}
		own.TLS = config.TLS{} // of listeners that this program does not have
		var err error
		if security, err = serving.NewSecurity(&own, true, log); err != nil {
			return nil, nil, fmt.Errorf("gateway: auth: %w", err)
		}
		security.Attach(g.actors)
		o.Admission = security.Admission()
	}
	return downstream.NewMount(g.actors.Front(), o, cfg.Forwarded()), security, nil
}
