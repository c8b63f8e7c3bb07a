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

// Client asks a running gateway for logins, over a connection that says who asks. It blocks until the gateway has answered.
type Client struct {
	HTTP          *http.Client
	URL           func(verb string) string // where begin, finish and logout are asked for
	Authorization string                   // the header; "" = the connection says who asks
}

// NewClient returns a client of the pages below base, such as http://127.0.0.1:8730/login/api/, with an API key.
func NewClient(base, key string) *Client {
	return &Client{HTTP: &http.Client{CheckRedirect: withinOrigin}, URL: func(verb string) string { return base + verb }, Authorization: "Bearer " + key}
}

// withinOrigin has no redirect take the key elsewhere. net/http alone would take it from https to http, too.
func withinOrigin(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Scheme != first.Scheme || r.URL.Host != first.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Begin begins a login.
func (c *Client) Begin(ctx context.Context, w Wish) (Begun, error) {
	var b Begun
	return b, c.do(ctx, "begin", w, &b)
}

// Finish brings the answer to one. Of a login by device it blocks until that is over.
func (c *Client) Finish(ctx context.Context, a Answer) error {
	for {
		err := c.do(ctx, "finish", a, nil)
		if refused, is := err.(*Refused); !is || !refused.Pending {
			return err
		}
	}
}

// Logout gives one up.
func (c *Client) Logout(ctx context.Context, w Wish) error { return c.do(ctx, "logout", w, nil) }

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
			return fmt.Errorf("the gateway answers %s: %.200q", resp.Status, page)
		}
		return refused
	}
	if out == nil {
		return nil
	}
	return decode.JSON(page, "the gateway's answer to "+verb, out)
}

// UnreachableError says that no gateway answers.
type UnreachableError struct{ err error }

func (e *UnreachableError) Error() string { return e.err.Error() }

func (e *UnreachableError) Unwrap() error { return e.err }
