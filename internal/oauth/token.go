package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxToken = 24 << 10                  // bytes of an access or refresh token; servers do not accept longer headers
	maxLife  = 10 * 365 * 24 * time.Hour // maximum lifetime of a token; a longer one is reduced to this
)

// Refresh exchanges a refresh token for a new access token, and keeps the old refresh token if the response has no new
// one. It sends the request once, because a refresh token may be valid for one use only.
func (a *Agent) Refresh(ctx context.Context, site *AuthServer, client Client, old Token) (Token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}}
	t, err := a.token(ctx, "refresh the token", site, client, form)
	if err != nil {
		return Token{}, err
	}
	if t.Refresh == "" {
		t.Refresh = old.Refresh
	}
	if t.Scopes == nil {
		t.Scopes = old.Scopes
	}
	return t, nil
}

// ClientCredentials gets a token for the gateway itself (RFC 6749, section 4.4).
func (a *Agent) ClientCredentials(ctx context.Context, site *AuthServer, scopes []string) (Token, error) {
	if a.Config.ClientID == "" || a.Config.Secret == "" {
		return Token{}, refuse(ErrNoClient, "set auth.clientId and auth.clientSecret of the server", "client credentials need a client id and a secret")
	}
	client, _ := a.configuredClient(site)
	form := url.Values{"grant_type": {"client_credentials"}}
	setScopes(form, scopes)
	t, err := a.token(ctx, "get a token with client credentials", site, client, form)
	t.Refresh = "" // RFC 6749, section 4.4.3: a refresh token should not be included
	return withDefaultScopes(t, scopes), err
}

// withDefaultScopes sets the scopes of a token to the requested ones if the response does not name any.
func withDefaultScopes(t Token, asked []string) Token {
	if t.Scopes == nil {
		t.Scopes = asked
	}
	return t
}

func setScopes(form url.Values, scopes []string) {
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
}

// token sends a request to the token endpoint and returns the granted token.
func (a *Agent) token(ctx context.Context, op string, site *AuthServer, client Client, form url.Values) (Token, error) {
	form.Set("resource", site.Resource)
	status, body, err := a.post(ctx, op, site.Token, client, form)
	if err != nil {
		return Token{}, err
	}
	if status != http.StatusOK {
		return Token{}, oauthError(op, status, body, client, form)
	}
	return parseToken(op, body, a.Now())
}

// post sends a form once, authenticated as the client, and returns the response. It may add the client's credentials to
// the form.
func (a *Agent) post(ctx context.Context, op, to string, client Client, form url.Values) (status int, body []byte, err error) {
	if err := a.Client.Check(to); err != nil { // a stored URL must satisfy the current rules
		return 0, nil, err
	}
	if client.Method != methodBasic {
		form.Set("client_id", client.ID)
	}
	if client.Method == methodPost {
		form.Set("client_secret", client.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, refuse(ErrMalformed, "", "%q is not a URL", shorten(to))
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if client.Method == methodBasic {
		r.SetBasicAuth(url.QueryEscape(client.ID), url.QueryEscape(client.Secret))
	}
	answer, err := a.Client.HTTP.Do(r)
	if err != nil {
		return 0, nil, networkError(op, err)
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		return 0, nil, networkError(op, err)
	}
	return answer.StatusCode, body, nil
}

// parseToken parses a successful response (RFC 6749, section 5.1).
func parseToken(op string, body []byte, now time.Time) (Token, error) {
	var m struct {
		Access  string          `json:"access_token"`
		Type    string          `json:"token_type"`
		Refresh string          `json:"refresh_token"`
		Expires json.RawMessage `json:"expires_in"`
		Scope   *string         `json:"scope"`
		Error   string          `json:"error"` // some servers report errors with status 200
	}
	if json.Unmarshal(body, &m) != nil {
		return Token{}, refuse(ErrMalformed, "", "%s: the response is not a JSON object with a token", op)
	}
	switch {
	case m.Error != "":
		return Token{}, &OAuthError{Op: op, Status: http.StatusOK, Code: oauthCode(m.Error)}
	case !isToken(m.Access):
		return Token{}, refuse(ErrMalformed, "", "%s: the response has no valid access token", op)
	case m.Refresh != "" && !isToken(m.Refresh):
		return Token{}, refuse(ErrMalformed, "", "%s: the refresh token in the response is invalid", op)
	case m.Type != "" && !strings.EqualFold(m.Type, "bearer"):
		return Token{}, refuse(ErrUnsupported, "", "%s: token type %q is not supported; the gateway can only send bearer tokens", op, shorten(m.Type))
	}
	t := Token{Access: m.Access, Refresh: m.Refresh, Received: now}
	if m.Scope != nil {
		t.Scopes = append([]string{}, Scopes(*m.Scope)...)
	}
	if life, ok := seconds(m.Expires); ok {
		t.Expires = now.Add(life)
	}
	return t, nil
}

// isToken reports whether s can be sent in a header: only visible ASCII, so that a token cannot inject another header.
func isToken(s string) bool {
	return s != "" && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// seconds parses a positive number of seconds, which may be a JSON string. It is limited to maxLife.
func seconds(raw json.RawMessage) (time.Duration, bool) {
	text := strings.Trim(string(raw), `"`)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) { // rejects NaN, too
		return 0, false
	}
	if n > maxLife.Seconds() {
		return maxLife, true
	}
	return time.Duration(n * float64(time.Second)), true
}

// oauthError parses an error response (RFC 6749, section 5.2). It removes the secrets of the request, should the
// response repeat them.
func oauthError(op string, status int, body []byte, client Client, form url.Values) error {
	var m struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	e := &OAuthError{Op: op, Status: status}
	if json.Unmarshal(bytes.TrimSpace(body), &m) == nil {
		e.Code, e.Description = oauthCode(m.Code), m.Description
	}
	for _, secret := range []string{client.Secret, form.Get("code"), form.Get("refresh_token"), form.Get("code_verifier"), form.Get("device_code"), form.Get("token")} {
		if secret != "" {
			e.Code, e.Description = strings.ReplaceAll(e.Code, secret, "[redacted]"), strings.ReplaceAll(e.Description, secret, "[redacted]")
		}
	}
	e.Description = shorten(e.Description)
	return e
}

// Revoke revokes a token at the authorization server (RFC 7009), the refresh token if there is one.
func (a *Agent) Revoke(ctx context.Context, site *AuthServer, client Client, t Token) error {
	if site.Revoke == "" {
		return refuse(ErrUnsupported, "", "%s does not support revocation", shorten(site.Issuer))
	}
	if client.ID == "" { // a token of client credentials, which belongs to the configured client
		client, _ = a.configuredClient(site)
	}
	form := url.Values{"token": {t.Access}, "token_type_hint": {"access_token"}}
	if t.Refresh != "" {
		form = url.Values{"token": {t.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	const op = "revoke the token"
	status, body, err := a.post(ctx, op, site.Revoke, client, form)
	if err != nil {
		return err
	}
	if status != http.StatusOK && status != http.StatusNoContent {
		return oauthError(op, status, body, client, form)
	}
	return nil
}
