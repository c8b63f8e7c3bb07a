package report

// Targets to compare the gateway with.
const (
	Direct = "direct" // the HTTP server itself
	// ReverseProxy is a pooled httputil.ReverseProxy in front of it. It cuts about one large answer in a hundred short: net/http
	// closes the request's body when the answer begins while the transport may still read it. These are counted, not measured.
	ReverseProxy = "reverse-proxy"
	// Forwarder only moves bytes; no proxy does better. WholeForwarder does so when it has all of an answer.
	Forwarder      = "forwarder"
	WholeForwarder = "whole-forwarder"
)

// Comparable are the names of all of them.
var Comparable = []string{Direct, ReverseProxy, Forwarder, WholeForwarder}
