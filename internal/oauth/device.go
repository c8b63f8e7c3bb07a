package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

const (
	deviceGrant   = "urn:ietf:params:oauth:grant-type:device_code"
	pollInterval  = 5 * time.Second  // default interval, and the increment for slow_down
	pollAtMost    = time.Minute      // maximum interval
	deviceAtMost  = 30 * time.Minute // maximum time to complete a login
	deviceDefault = 10 * time.Minute // time to complete a login if the server names none
	maxUserCode   = 64               // bytes
)

// Device is what a user needs to log in from another device.
type Device struct {
	UserCode string
	URL      string        // page to enter the code
	Complete string        // URL that includes the code; "" = none
	Interval time.Duration // between polls
	Expires  time.Time     // end of the time to complete the login
}

var (
	// ErrPending is returned by Poll while the user has not completed the login.
	ErrPending = errors.New("the login is not completed yet")
	// ErrSlowDown is returned by Poll in the same case if the interval must be increased by 5 s.
	ErrSlowDown = errors.New("the login is not completed yet, and the authorization server asks for a longer interval between polls")
)

// AuthorizeDevice starts a login by device (RFC 8628).
func (a *Agent) AuthorizeDevice(ctx context.Context, site *AuthServer, client Client, scopes []string) (*Login, *Device, error) {
	if site.Device == "" {
		return nil, nil, refuse(ErrUnsupported, "log in by browser, without --device", "%s does not support device logins", shorten(site.Issuer))
	}
	form := url.Values{"resource": {site.Resource}}
	setScopes(form, scopes)
	const op = "start a device login"
	status, body, err := a.post(ctx, op, site.Device, client, form)
	if err != nil {
		return nil, nil, err
	}
	if status != http.StatusOK {
		return nil, nil, oauthError(op, status, body, client, form)
	}
	code, d, err := parseDevice(op, body, a.Now())
	if err != nil {
		return nil, nil, err
	}
	for _, page := range []string{d.URL, d.Complete} {
		if page == "" {
			continue
		}
		if err := a.Client.Check(page); err != nil {
			return nil, nil, err
		}
	}
	return &Login{State: random(), Site: site, Client: client, Scopes: scopes, device: code}, d, nil
}

// parseDevice parses the response with a device code (RFC 8628, section 3.2).
func parseDevice(op string, body []byte, now time.Time) (code string, d *Device, err error) {
	var m struct {
		Device   string          `json:"device_code"`
		User     string          `json:"user_code"`
		URI      string          `json:"verification_uri"`
		URL      string          `json:"verification_url"` // name of an early draft that some servers still use
		Complete string          `json:"verification_uri_complete"`
		Expires  json.RawMessage `json:"expires_in"`
		Interval json.RawMessage `json:"interval"`
	}
	if json.Unmarshal(body, &m) != nil || m.Device == "" || len(m.Device) > maxToken || m.User == "" || len(m.User) > maxUserCode || shorten(m.User) != m.User {
		return "", nil, refuse(ErrMalformed, "", "%s: the response has no valid codes", op)
	}
	if m.URI == "" {
		m.URI = m.URL
	}
	if m.URI == "" || len(m.URI) > maxURL || len(m.Complete) > maxURL {
		return "", nil, refuse(ErrMalformed, "", "%s: the response does not say where to enter the code", op)
	}
	d = &Device{UserCode: m.User, URL: m.URI, Complete: m.Complete, Interval: pollInterval, Expires: now.Add(deviceDefault)}
	if life, ok := seconds(m.Expires); ok {
		d.Expires = now.Add(min(life, deviceAtMost))
	}
	if pause, ok := seconds(m.Interval); ok {
		d.Interval = min(max(pause, time.Second), pollAtMost)
	}
	return m.Device, d, nil
}

// Poll asks whether the user has completed the login by device, and returns the token if so. It returns ErrPending or
// ErrSlowDown while the user has not, and another error if the login has failed or the request did.
func (a *Agent) Poll(ctx context.Context, l *Login) (Token, error) {
	form := url.Values{"grant_type": {deviceGrant}, "device_code": {l.device}}
	t, err := a.token(ctx, "log in", l.Site, l.Client, form)
	var said *OAuthError
	if errors.As(err, &said) {
		switch said.Code {
		case "authorization_pending":
			return Token{}, ErrPending
		case "slow_down":
			return Token{}, ErrSlowDown
		}
	}
	return withDefaultScopes(t, l.Scopes), err
}
