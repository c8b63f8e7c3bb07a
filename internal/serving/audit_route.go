package serving

import (
	"context"
	"fmt"
	"net/url"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/login"
	"goblin-actor/internal/status"
)

const auditPage = "/auditz"

// AdminRoutes returns the routes of the admin interface that package admin does not have, for the admin socket and for other nodes of the
// cluster.
func AdminRoutes(src status.Source, pages *login.Pages) []admin.Route {
	return append(loginRoutes(pages), auditRoute(src))
}

// auditRoute returns the route with which audit tail --nodes reads the audit log of the gateway.
func auditRoute(src status.Source) admin.Route {
	return admin.PageRoute(auditPage, func(ctx context.Context, query url.Values) ([]byte, error) {
		s, err := src.Status(ctx)
		if err != nil {
			return nil, err
		}
		if s.Audit == nil {
			return nil, fmt.Errorf("audit log: %w; set audit.file in the configuration of this node", status.ErrNotThere)
		}
		return audit.ReadLines(s.Audit.File, query)
	})
}

// RemoteAuditLog returns the audit log of a node, read through the admin socket at path. node is "" for the gateway of that socket itself.
func RemoteAuditLog(ctx context.Context, path, name, node string, f audit.Filter) *audit.RemoteLog {
	return audit.NewRemoteLog(name, f, func(query url.Values) ([]byte, error) {
		return admin.GetPage(ctx, admin.AddressOf(path, node), auditPage+"?"+query.Encode())
	})
}
