package downstream

import "strings"

// Route is the last part of a path that clients use. The part before it selects what clients see of the catalog: one project
// with /p/<project>, one server with /s/<server>, or everything if there is no such part.
type Route string

// The routes.
const (
	RouteMCP      Route = "/mcp"      // streamable HTTP
	RouteSSE      Route = "/sse"      // GET opens a session of HTTP+SSE and its stream (MCP 2024-11-05, basic/transports)
	RouteMessages Route = "/messages" // POST carries the messages of such a session
)

// Ends reports whether the path ends with the route.
func (r Route) Ends(path string) bool { return strings.HasSuffix(path, string(r)) }

// CutRoute returns the part of a path before its route. found is false if the path has no route.
func CutRoute(path string) (prefix string, found bool) {
	for _, r := range [...]Route{RouteMCP, RouteSSE, RouteMessages} {
		if prefix, found = strings.CutSuffix(path, string(r)); found {
			return prefix, true
		}
	}
	return path, false
}

// MessagesPath returns the path to which a client posts its messages, given the RouteSSE path of its stream.
func MessagesPath(stream string) string {
	return strings.TrimSuffix(stream, string(RouteSSE)) + string(RouteMessages)
}
