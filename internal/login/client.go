package login

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"goblin-actor/internal/decode"
)

// Client requests logins from a running gateway. Its methods block until the gateway has answered.
type Client struct {
	HTTP          *http.Client
	URL           func(verb string) string // URL for begin, finish or logout
	Authorization string                   // Authorization header; "" = the connection identifies the user
}

// NewClient returns a client that authenticates with an API key. base is the URL of the API, such as
// http://127.0.0.1:8730/login/api/.
func NewClient(base, key string) *Client {
	return &Client{HTTP: &http.Client{CheckRedirect: withinOrigin}, URL: func(verb string) string { return base + verb }, Authorization: "Bearer " + key}
}

// withinOrigin prevents redirects from sending the key elsewhere. net/http alone would also send it from https to http.
// At most three redirects are followed.
func withinOrigin(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Scheme != first.Scheme || r.URL.Host != first.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Begin starts a login.
func (c *Client) Begin(ctx context.Context, w Request) (Started, error) {
	var b Started
	return b, c.do(ctx, "begin", w, &b)
}

// Finish completes a login with the result of the browser. For a device login it blocks until the login ends.
func (c *Client) Finish(ctx context.Context, a Answer) error {
	for {
		err := c.do(ctx, "finish", a, nil)
		if refused, is := err.(*Refused); !is || !refused.Pending {
			return err
		}
	}
}

// Logout ends a login.
func (c *Client) Logout(ctx context.Context, w Request) error { return c.do(ctx, "logout", w, nil) }

func (c *Client) do(ctx context.Context, verb string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL(verb), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Authorization != "" {
		r.Header.Set("Authorization", c.Authorization)
	}
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return &UnreachableError{err}
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return &UnreachableError{err}
	}
	if resp.StatusCode != http.StatusOK {
		refused := new(Refused)
		if json.Unmarshal(page, refused) != nil || refused.Message == "" {
			return fmt.Errorf("the gateway answered %s: %.200q", resp.Status, page)
		}
		return refused
	}
	if out == nil {
		return nil
	}
	return decode.JSON(page, "the gateway's answer to "+verb, out)
}

// UnreachableError is returned if the gateway sent no complete response.
type UnreachableError struct{ err error }

// Error returns the cause.
func (e *UnreachableError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.err }
