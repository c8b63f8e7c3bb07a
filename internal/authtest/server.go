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

// Server is a protected server. Its endpoint is /mcp.
type Server struct {
	URL    string // of the endpoint
	Origin string

	issuer *Issuer
	mu     sync.Mutex
	how    Protection
	served []string // the tokens that were let through, in order
}

// Protection says how the server shows where to log in, and what it wants.
type Protection struct {
	Resource    string   // what its metadata says it is of; "" = its URL
	Issuers     []string // what its metadata names; nil = the issuer
	NoMetadata  bool     // 404, as servers of 2025-03-26
	AtRoot      bool     // the metadata is at the root of the host only
	NoChallenge bool     // 401 without WWW-Authenticate
	NoPointer   bool     // a challenge without resource_metadata
	Pointer     string   // resource_metadata, in place of the true one
	Scopes      []string // that every request needs
	Supported   []string // scopes_supported
	Refuse      bool     // no token is good enough: 401
	Status      int      // what each request is answered with; 0 = as it should be
}

// Protect starts a server whose endpoint wants tokens of the issuer; inner answers who has one, nil = with an empty object.
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

// Set changes how it is protected.
func (s *Server) Set(change func(*Protection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.how)
}

// Served returns the access tokens of the requests that were let through.
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

// guard lets through who has a token for this server.
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

// Challenge is what the server answers to a request without a token.
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
