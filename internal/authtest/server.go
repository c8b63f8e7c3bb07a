package authtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is a protected MCP server. Its endpoint is /mcp.
type Server struct {
	URL    string // URL of the endpoint
	Origin string

	issuer *Issuer
	mu     sync.Mutex
	how    Protection
	served []string // accepted tokens, in order
}

// Protection describes the server's metadata and the tokens that it requires.
type Protection struct {
	Resource    string   // resource in the metadata; "" = its URL
	Issuers     []string // issuers in the metadata; nil = the issuer
	NoMetadata  bool     // answer 404, as servers of 2025-03-26 do
	AtRoot      bool     // metadata only at the root of the host
	NoChallenge bool     // 401 without WWW-Authenticate
	NoPointer   bool     // challenge without resource_metadata
	Pointer     string   // resource_metadata instead of the correct one
	Scopes      []string // scopes that every request needs
	Supported   []string // scopes_supported
	Refuse      bool     // refuse all tokens with 401
	Status      int      // status of all responses; 0 = normal
}

// Protect starts a server whose endpoint requires tokens of the issuer. inner handles authorized requests; nil =
// respond with an empty object.
func (i *Issuer) Protect(t testing.TB, inner http.Handler) *Server {
	s := &Server{issuer: i}
	if inner == nil {
		inner = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, map[string]any{}) })
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/", s.metadata)
	mux.Handle("/mcp", s.guard(inner))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.Origin, s.URL = server.URL, server.URL+"/mcp"
	return s
}

// Set changes the protection.
func (s *Server) Set(change func(*Protection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.how)
}

// Served returns the access tokens of accepted requests.
func (s *Server) Served() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.served)
}

func (s *Server) now() Protection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.how
}

func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	const place = "/.well-known/oauth-protected-resource"
	how := s.now()
	if how.NoMetadata || r.URL.Path != place && (how.AtRoot || r.URL.Path != place+"/mcp") {
		http.NotFound(w, r)
		return
	}
	m := map[string]any{"resource": s.URL, "authorization_servers": []string{s.issuer.URL}}
	if how.Resource != "" {
		m["resource"] = how.Resource
	}
	if how.Issuers != nil {
		m["authorization_servers"] = how.Issuers
	}
	if how.Supported != nil {
		m["scopes_supported"] = how.Supported
	}
	reply(w, http.StatusOK, m)
}

// guard passes requests with a valid token for this server to inner.
func (s *Server) guard(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		how := s.now()
		if how.Status != 0 {
			w.WriteHeader(how.Status)
			return
		}
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		resource, scopes, ok := s.issuer.Valid(token)
		switch {
		case !bearer:
			s.refuse(w, how, http.StatusUnauthorized, "")
		case !ok || how.Refuse || resource != s.URL && resource != s.Origin:
			s.refuse(w, how, http.StatusUnauthorized, "invalid_token")
		case slices.ContainsFunc(how.Scopes, func(want string) bool { return !slices.Contains(scopes, want) }):
			s.refuse(w, how, http.StatusForbidden, "insufficient_scope")
		default:
			s.mu.Lock()
			s.served = append(s.served, token)
			s.mu.Unlock()
			inner.ServeHTTP(w, r)
		}
	})
}

func (s *Server) refuse(w http.ResponseWriter, how Protection, status int, word string) {
	if !how.NoChallenge {
		w.Header().Set("WWW-Authenticate", s.challenge(how, word))
	}
	w.WriteHeader(status)
}

// Challenge returns the WWW-Authenticate headers for a request without a token.
func (s *Server) Challenge() []string { return []string{s.challenge(s.now(), "")} }

func (s *Server) challenge(how Protection, word string) string {
	var params []string
	if word != "" {
		params = append(params, fmt.Sprintf("error=%q", word))
	}
	switch {
	case how.Pointer != "":
		params = append(params, fmt.Sprintf("resource_metadata=%q", how.Pointer))
	case how.AtRoot && !how.NoPointer && !how.NoMetadata:
		params = append(params, fmt.Sprintf("resource_metadata=%q", s.Origin+"/.well-known/oauth-protected-resource"))
	case !how.NoPointer && !how.NoMetadata:
		params = append(params, fmt.Sprintf("resource_metadata=%q", s.Origin+"/.well-known/oauth-protected-resource/mcp"))
	}
	if len(how.Scopes) > 0 {
		params = append(params, fmt.Sprintf("scope=%q", strings.Join(how.Scopes, " ")))
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}
