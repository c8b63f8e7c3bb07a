package remote

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/coding"
	"goblin-actor/protocol/stream"
)

const (
	versionNamedSince = "2025-06-18" // requests name their version from this version on: MCP 2025-06-18, basic/transports#protocol-version-header
	modernSince       = "2026-07-28" // requests name their method and target from this version on: MCP 2026-07-28, basic/transports/streamable-http
	acceptHeader      = "application/json, text/event-stream"
	userAgent         = "goblin-actor"
	maxSessionID      = 1024 // maximum length of a session id
)

// site is a parsed URL and the headers of every request to it.
type site struct {
	url    *url.URL
	addr   string // host:port
	host   string // the Host header
	path   string // path and query
	fields []field
	accept string   // Accept-Encoding; "" = none
	short  bool     // GET streams carry short messages, so they are requested without accept
	limit  int      // maximum message size in bytes
	cookie string   // the configured Cookie header; "" = none
	jar    *cookies // the server's cookies
}

type field struct{ name, value string }

// parseSite checks a configured URL and its headers. An error may contain the name of a header or the scheme of the URL,
// but no header value and no other part of the URL.
func parseSite(o Options) (*site, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("url: cannot be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("url: scheme %q, want http or https", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("url: no host")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	s := &site{url: u, addr: net.JoinHostPort(u.Hostname(), port), host: u.Host, path: u.RequestURI()}
	agent, encoding := userAgent, ""
	authorized := false
	for name, value := range o.Headers {
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		value = strings.TrimSpace(value)
		switch err := checkHeader(name, value); {
		case err != nil:
			return nil, err
		case name == "User-Agent":
			agent = value
		case name == "Accept-Encoding":
			if wanted := strings.ToLower(value); wanted == "identity" || wanted == coding.Accept {
				encoding = wanted
			}
		default:
			authorized = authorized || name == "Authorization"
			s.setHeader(name, value)
		}
	}
	if o.Credentials != nil && (authorized || u.User != nil) {
		return nil, errTwoLogins
	}
	if u.User != nil && !authorized {
		password, _ := u.User.Password()
		login := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
		s.fields = append(s.fields, field{"Authorization", "Basic " + login})
	}
	slices.SortFunc(s.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	s.fields = append([]field{{"User-Agent", agent}}, s.fields...)
	s.accept, s.limit = acceptEncoding(u.Hostname(), encoding), o.MaxMessageBytes
	s.jar = o.jar
	if s.jar == nil {
		s.jar = newCookies(url.URL{Scheme: u.Scheme, Host: s.host}, o.Cookies)
	}
	return s, nil
}

// checkHeader checks a configured header.
func checkHeader(name, value string) error {
	if !isToken(name) {
		return fmt.Errorf("header %q: not a header name", name)
	}
	if !stream.IsHeaderValue(value) {
		return fmt.Errorf("header %q: must not contain line breaks or control characters", name)
	}
	return nil
}

// setHeader stores a configured header, unless the protocol sets it.
func (s *site) setHeader(name, value string) {
	switch {
	case name == "Host":
		s.host = value
	case name == "Cookie":
		s.cookie = value
	case !isReserved(name):
		s.fields = append(s.fields, field{name, value})
	}
}

// cookies returns the Cookie header of a request, or "".
func (s *site) cookies() string { return s.jar.header(s.path, s.cookie) }

// isReserved reports whether the protocol sets a header.
func isReserved(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Keep-Alive",
		"Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// isSession reports whether s is a valid session id. The specification allows visible ASCII only.
func isSession(s []byte) bool {
	for _, c := range s {
		if c < 0x21 || c > 0x7e {
			return false
		}
	}
	return len(s) > 0 && len(s) <= maxSessionID
}

// redirect returns the path of a Location, or false for another origin, which must not get headers with secrets.
func (s *site) redirect(location string) (string, bool) {
	to, err := s.url.Parse(location)
	if err != nil || location == "" || to.Scheme != s.url.Scheme || !strings.EqualFold(to.Host, s.url.Host) {
		return "", false
	}
	return to.RequestURI(), true
}

// head is the common start of a session's requests. It is immutable.
type head struct {
	site             *site
	session, version string
	post, bare       []byte // rendered start of POST requests; bare is without session and version
}

func newHead(site *site, session, version string) *head {
	h := &head{site: site, session: session, version: version}
	h.post = h.render(nil, "POST", false)
	h.bare = h.render(nil, "POST", true)
	return h
}

// modern reports whether requests name their method and target.
func (h *head) modern() bool { return h.version >= modernSince }

// each calls f for the header fields that do not depend on the message.
func (h *head) each(verb string, bare bool, f func(name, value string)) {
	for _, field := range h.site.fields {
		f(field.name, field.value)
	}
	switch verb {
	case "POST":
		f("Content-Type", "application/json")
		f("Accept", acceptHeader)
	case "GET":
		f("Accept", "text/event-stream")
	}
	if accept := h.site.accept; accept != "" && (verb == "POST" || verb == "GET" && !h.site.short) {
		f("Accept-Encoding", accept)
	}
	if bare {
		return
	}
	if h.session != "" && !h.modern() {
		f("Mcp-Session-Id", h.session)
	}
	if h.version >= versionNamedSince {
		f("Mcp-Protocol-Version", h.version)
	}
}

// render appends the header in HTTP/1.1 format, without the empty line.
func (h *head) render(dst []byte, verb string, bare bool) []byte {
	dst = append(dst, verb...)
	dst = append(dst, ' ')
	dst = append(dst, h.site.path...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, h.site.host...)
	dst = append(dst, "\r\n"...)
	h.each(verb, bare, func(name, value string) { dst = appendField(dst, name, value) })
	return dst
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// httpRequest is one request.
type httpRequest struct {
	verb      string
	head      *head
	bare      bool // an initialize, which has no session and version yet
	body      []byte
	method    string // modern era
	name      string
	headers   []protocol.HeaderField
	lastEvent string

	authorization string // from the credentials; "" = none (a configured one is in head)
}

// each calls f for the header fields that depend on the message.
func (r *httpRequest) each(f func(name, value string)) {
	if r.head.modern() && r.method != "" {
		f("Mcp-Method", encodeName(r.method))
		if r.name != "" {
			f("Mcp-Name", encodeName(r.name))
		}
	}
	for _, h := range r.headers {
		if !r.head.modern() && strings.HasPrefix(h.Name, protocol.HeaderParam) {
			continue
		}
		if isToken(h.Name) && stream.IsHeaderValue(h.Value) { // names come from servers
			f(h.Name, h.Value)
		}
	}
	if r.lastEvent != "" {
		f("Last-Event-Id", r.lastEvent)
	}
}

// header returns all fields for net/http.
func (r *httpRequest) header() http.Header {
	header := http.Header{}
	r.head.each(r.verb, r.bare, header.Set)
	r.each(header.Set)
	if r.authorization != "" {
		header.Set("Authorization", r.authorization)
	}
	if cookie := r.head.site.cookies(); cookie != "" {
		header.Set("Cookie", cookie)
	}
	return header
}

// encodeName encodes a text as a header value: unchanged if possible, otherwise marked base64.
// MCP 2026-07-28, basic/transports/streamable-http#value-encoding.
func encodeName(s string) string {
	const mark, end = "=?base64?", "?="
	plain := s == strings.Trim(s, " \t") && !(strings.HasPrefix(s, mark) && strings.HasSuffix(s, end))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f || s[i] == '\t'
	}
	if plain {
		return s
	}
	return mark + base64.StdEncoding.EncodeToString([]byte(s)) + end
}
