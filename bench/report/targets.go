package report

// Targets that the gateway can be compared with.
const (
	Direct = "direct" // the HTTP server itself
	// ReverseProxy is a pooled httputil.ReverseProxy. It truncates about one large response in a hundred, because
	// net/http closes the request's body when the response starts, while the transport may still be reading it.
	// Truncated responses are counted, not measured.
	ReverseProxy = "reverse-proxy"
	// Forwarder only copies bytes, so it is faster than any proxy. WholeForwarder copies a response after it has
	// received all of it.
	Forwarder      = "forwarder"
	WholeForwarder = "whole-forwarder"
)

// Comparable lists these targets.
var Comparable = []string{Direct, ReverseProxy, Forwarder, WholeForwarder}
