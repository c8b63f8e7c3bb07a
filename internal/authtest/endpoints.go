package authtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (i *Issuer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", i.document)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("POST /register", i.register)
	mux.HandleFunc("POST /device", i.deviceCode)
	mux.HandleFunc("POST /revoke", i.revoke)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/register" {
			i.note(r)
		}
		mux.ServeHTTP(w, r)
	})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, word string) {
	reply(w, status, map[string]string{"error": word, "error_description": "requested by the test"})
}

// document serves the metadata of the authorization server.
func (i *Issuer) document(w http.ResponseWriter, r *http.Request) {
	f := i.now()
	places := []string{"/.well-known/oauth-authorization-server" + f.Path, "/.well-known/openid-configuration" + f.Path}
	if f.OpenID {
		places = []string{f.Path + "/.well-known/openid-configuration"}
	}
	switch {
	case f.NoMetadata || !slices.Contains(places, r.URL.Path):
		http.NotFound(w, r)
	case f.Redirect != "":
		http.Redirect(w, r, f.Redirect, http.StatusFound)
	case f.Endless:
		endless(w, r)
	default:
		reply(w, http.StatusOK, i.metadata(f))
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"issuer":"`))
	block := []byte(strings.Repeat("x", 64<<10))
	for r.Context().Err() == nil {
		time.Sleep(5 * time.Millisecond) // a test that fails to limit it must not exhaust the machine's memory
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func (i *Issuer) metadata(f Faults) map[string]any {
	m := map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.origin + "/authorize", "token_endpoint": i.origin + "/token", "revocation_endpoint": i.origin + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": !f.NoIss,
		"client_id_metadata_document_supported": f.Documents,
	}
	if f.Issuer != "" {
		m["issuer"] = f.Issuer
	}
	if f.NoPKCE {
		delete(m, "code_challenge_methods_supported")
	}
	if !f.NoRegister {
		m["registration_endpoint"] = i.origin + "/register"
	}
	if !f.NoDevice {
		m["device_authorization_endpoint"] = i.origin + "/device"
	}
	if f.Methods != nil {
		m["token_endpoint_auth_methods_supported"] = f.Methods
	}
	if f.Offline {
		m["scopes_supported"] = []string{"offline_access"}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.Copy(m, i.extra)
	return m
}

func (i *Issuer) register(w http.ResponseWriter, r *http.Request) {
	var meta map[string]any
	if err := json.NewDecoder(r.Body).Decode(&meta); err != nil || i.now().NoRegister {
		fail(w, http.StatusBadRequest, "invalid_client_metadata")
		return
	}
	i.mu.Lock()
	i.seen = append(i.seen, Request{Path: r.URL.Path})
	id := random("client")
	meta["client_id"] = id
	i.known[id] = ""
	if method, _ := meta["token_endpoint_auth_method"].(string); method != "none" {
		i.known[id] = random("secret")
		meta["client_secret"], meta["client_secret_expires_at"] = i.known[id], 0
	}
	i.mu.Unlock()
	reply(w, http.StatusCreated, meta)
}

// authorize is the login page. It approves every request immediately.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	f, q := i.now(), r.URL.Query()
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || to.Host == "" || q.Get("client_id") == "" {
		http.Error(w, "no redirect_uri or no client_id", http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	switch {
	case f.Iss != "":
		answer.Set("iss", f.Iss)
	case !f.NoIss:
		answer.Set("iss", i.URL)
	}
	if f.Error != "" {
		answer.Set("error", f.Error)
	} else {
		c := random("code")
		i.mu.Lock()
		i.codes[c] = &code{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), resource: q.Get("resource"), scope: q.Get("scope")}
		i.mu.Unlock()
		answer.Set("code", c)
	}
	to.RawQuery = answer.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

func (i *Issuer) deviceCode(w http.ResponseWriter, r *http.Request) {
	c := random("device")
	i.mu.Lock()
	i.device[c] = &code{client: i.clientOf(r), resource: r.Form.Get("resource"), scope: r.Form.Get("scope"), polls: i.faults.Polls}
	i.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"device_code": c, "user_code": "ABCD-EFGH", "verification_uri": i.origin + "/enter", "verification_uri_complete": i.origin + "/enter?code=ABCD-EFGH", "expires_in": 600, "interval": 1})
}

func (i *Issuer) revoke(w http.ResponseWriter, r *http.Request) {
	f := i.now()
	if f.RevokeWaits != nil {
		select {
		case <-f.RevokeWaits:
		case <-r.Context().Done():
			return
		}
	}
	if f.RevokeError != "" {
		fail(w, http.StatusBadRequest, f.RevokeError)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.proves(r) {
		fail(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	if g := i.fresh[r.Form.Get("token")]; g != nil {
		g.family.revoked = true
	}
	delete(i.tokens, r.Form.Get("token"))
	w.WriteHeader(http.StatusOK)
}

// clientOf returns the client id that a request claims.
func (*Issuer) clientOf(r *http.Request) string {
	if id, _, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(id)
		return id
	}
	return r.Form.Get("client_id")
}

// proves reports whether the request authenticates its client. The caller must hold mu.
func (i *Issuer) proves(r *http.Request) bool {
	id, secret := i.clientOf(r), r.Form.Get("client_secret")
	if _, basic, ok := r.BasicAuth(); ok {
		secret, _ = url.QueryUnescape(basic)
	}
	want, known := i.known[id]
	return known && want == secret || i.faults.Documents && strings.HasPrefix(id, "https://") || i.faults.NoMetadata && id != ""
}

// challengeOf returns the S256 code challenge of a verifier.
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (f Faults) life() time.Duration {
	if f.Life > 0 {
		return f.Life
	}
	return time.Hour
}
