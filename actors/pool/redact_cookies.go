package pool

import (
	"context"
	"slices"
	"sync"

	"goblin-actor/internal/secret"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/remote"
)

// recentCookies is the maximum number of values that a link hides: its current cookies, and some that were replaced
// while a request was in progress.
const recentCookies = 64

// cookieHider removes the values of a link's cookies from the link's errors, which may echo them. Each link hides only
// its own cookies: a value that one server chooses must not remove text from another server's errors.
type cookieHider struct {
	mu     sync.Mutex
	recent []string         // values, oldest first
	known  *secret.Redactor // of recent; made on demand, because balancers change a cookie with every response and errors are rare
}

// hideCookies returns an open function whose links hide their cookies.
func hideCookies(o remote.Options, open func(remote.Options, upstream.Sink) upstream.Link) func(upstream.Sink) upstream.Link {
	return func(sink upstream.Sink) upstream.Link {
		hider, o := new(cookieHider), o
		o.Cookies = hider.remember
		return open(o, func(ctx context.Context, e upstream.Event) error {
			switch e.(type) {
			case upstream.Received, upstream.Written: // they contain no error
				return sink(ctx, e)
			}
			return sink(ctx, redactEvent(hider.redactor(), e))
		})
	}
}

// remember adds the values of the link's current cookies.
func (h *cookieHider) remember(values []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, value := range values {
		if !slices.Contains(h.recent, value) {
			h.recent, h.known = append(h.recent, value), nil
		}
	}
	h.recent = slices.Delete(h.recent, 0, max(0, len(h.recent)-recentCookies))
}

// redactor returns the redactor of the remembered values, or nil if there are none.
func (h *cookieHider) redactor() *secret.Redactor {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil && len(h.recent) > 0 {
		h.known = new(secret.Redactor)
		h.known.Replace("cookies", h.recent...)
	}
	return h.known
}
