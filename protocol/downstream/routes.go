package downstream

import "strings"

// Route is the end of a path at which clients reach the gateway. What stands before it, nothing or /s/<server>, says which
// part of the catalog they see.
type Route string

// The routes there are.
const (
	RouteMCP      Route = "/mcp"      // streamable HTTP
	RouteSSE      Route = "/sse"      // GET opens a session of HTTP+SSE and its stream (MCP 2024-11-05, basic/transports)
	RouteMessages Route = "/messages" // what the client of such a session posts
)

// Ends reports whether the path is one of the route.
func (r Route) Ends(path string) bool { return strings.HasSuffix(path, string(r)) }

// CutRoute returns what stands in a path before its route; false for a path that has none.
func CutRoute(path string) (prefix string, found bool) {
	for _, r := range [...]Route{RouteMCP, RouteSSE, RouteMessages} {
		if prefix, found = strings.CutSuffix(path, string(r)); found {
			return prefix, true
		}
	}
	return path, false
}

// MessagesPath returns where the client posts to whose stream has the path of a RouteSSE.
func MessagesPath(stream string) string {
	return strings.TrimSuffix(stream, string(RouteSSE)) + string(RouteMessages)
}
