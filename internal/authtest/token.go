package authtest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// token is the token endpoint.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	f := i.now()
	time.Sleep(f.TokenDelay)
	switch {
	case f.TokenRedirect != "":
		http.Redirect(w, r, f.TokenRedirect, http.StatusTemporaryRedirect)
		return
	case f.TokenError != "":
		fail(w, http.StatusBadRequest, f.TokenError)
		return
	case f.TokenStatus != 0:
		w.WriteHeader(f.TokenStatus)
		return
	}
	i.mu.Lock()
	answer, status, refused := i.grant(r)
	i.mu.Unlock()
	switch {
	case refused != "":
		fail(w, status, refused)
	case f.Cut:
		panic(http.ErrAbortHandler)
	default:
		reply(w, http.StatusOK, answer)
	}
}

// grant processes a token request. The caller must hold mu.
func (i *Issuer) grant(r *http.Request) (answer map[string]any, status int, refused string) {
	if !i.proves(r) {
		return nil, http.StatusUnauthorized, "invalid_client"
	}
	client, form := i.clientOf(r), r.Form
	switch form.Get("grant_type") {
	case "authorization_code":
		c := i.codes[form.Get("code")]
		delete(i.codes, form.Get("code"))
		if c == nil || c.client != client || c.redirect != form.Get("redirect_uri") || c.challenge != challengeOf(form.Get("code_verifier")) || c.resource != form.Get("resource") {
			return nil, http.StatusBadRequest, "invalid_grant"
		}
		return i.issue(&issued{client: client, resource: c.resource, scope: c.scope, family: &family{}}), 0, ""
	case deviceGrant:
		return i.poll(form.Get("device_code"), client)
	case "client_credentials":
		answer = i.issue(&issued{client: client, resource: form.Get("resource"), scope: form.Get("scope"), family: &family{}})
		delete(answer, "refresh_token")
		return answer, 0, ""
	case "refresh_token":
		return i.refresh(form.Get("refresh_token"), client)
	}
	return nil, http.StatusBadRequest, "unsupported_grant_type"
}

func (i *Issuer) poll(device, client string) (answer map[string]any, status int, refused string) {
	c := i.device[device]
	switch {
	case c == nil || c.client != client:
		return nil, http.StatusBadRequest, "invalid_grant"
	case c.polls > 0:
		c.polls--
		return nil, http.StatusBadRequest, "authorization_pending"
	}
	delete(i.device, device)
	return i.issue(&issued{client: client, resource: c.resource, scope: c.scope, family: &family{}}), 0, ""
}

// refresh issues a new token pair. A refresh token that is used twice may be stolen, so it ends the whole login,
// unless KeepRefresh is set.
func (i *Issuer) refresh(token, client string) (answer map[string]any, status int, refused string) {
	g := i.fresh[token]
	if g == nil || g.client != client || g.family.revoked {
		return nil, http.StatusBadRequest, "invalid_grant"
	}
	if g.used && !i.faults.KeepRefresh {
		g.family.revoked = true
		return nil, http.StatusBadRequest, "invalid_grant"
	}
	g.used = true
	return i.issue(&issued{client: client, resource: g.resource, scope: g.scope, family: g.family}), 0, ""
}

func (i *Issuer) issue(g *issued) map[string]any {
	f := i.faults
	g.until = time.Now().Add(f.life())
	access := random("access")
	i.tokens[access] = g
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(f.life().Seconds())}
	if f.TokenType != "" {
		answer["token_type"] = f.TokenType
	}
	if f.NoExpiry {
		delete(answer, "expires_in")
	}
	if g.scope != "" {
		answer["scope"] = g.scope
	}
	if f.NoRefresh || f.Offline && !slices.Contains(strings.Fields(g.scope), "offline_access") {
		return answer
	}
	refresh := random("refresh")
	i.fresh[refresh] = &issued{client: g.client, resource: g.resource, scope: g.scope, family: g.family}
	answer["refresh_token"] = refresh
	return answer
}
