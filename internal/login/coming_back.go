package login

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// ErrNotBack is returned by Wait when the browser has taken too long.
var ErrNotBack = errors.New("the browser did not come back")

// ComingBack is where a browser comes back to on this machine, once.
type ComingBack struct {
	URL string // what the authorization server is told

	server *http.Server
	came   chan url.Values // capacity 1
	shut   func()

	mu    sync.Mutex
	state string // what the login's answers have; "" = nothing is expected yet
}

// usualPort is where the browser comes back to, unless somebody else has it: an authorization server that registers us does so for one address, and
// who logs in again is to be the client that was registered then. What is brought to another's listener is of no use without our verifier (PKCE).
const usualPort = 8739

// listenBack listens on a port of this machine, 0 = any, the usual one if it can be had.
func listenBack(port uint16, listen func(network, address string) (net.Listener, error)) (net.Listener, error) {
	if port == 0 {
		if l, err := listen("tcp", fmt.Sprintf("127.0.0.1:%d", usualPort)); err == nil {
			return l, nil
		}
	}
	return listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

// NewComingBack listens on a port of this machine, 0 = any.
func NewComingBack(port uint16) (*ComingBack, error) {
	l, err := listenBack(port, net.Listen)
	if err != nil {
		return nil, err
	}
	b := &ComingBack{URL: "http://" + l.Addr().String() + "/callback", came: make(chan url.Values, 1)}
	b.server = &http.Server{Handler: http.HandlerFunc(b.serve), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = b.server.Serve(l)
	}()
	b.shut = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if b.server.Shutdown(ctx) != nil {
			_ = b.server.Close()
		}
		<-served
	})
	return b, nil
}

// Close ends the listener.
func (b *ComingBack) Close() { b.shut() }

// serve takes what has the login's state, whoever brings it; other visitors learn nothing.
func (b *ComingBack) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	b.mu.Lock()
	state := b.state
	b.mu.Unlock()
	query := r.URL.Query()
	if r.URL.Path != "/callback" || r.Method != http.MethodGet || state == "" || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1 {
		http.Error(w, "This is not the page that you look for.", http.StatusNotFound)
		return
	}
	select {
	case b.came <- query:
	default: // it came before
	}
	fmt.Fprintln(w, "Go back to the terminal: it says whether you are logged in. This page can be closed.")
}

// Expect says which state the answers of the login have, before any browser is sent there: it may be back before anybody waits.
func (b *ComingBack) Expect(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// Wait returns what the browser brings to the login that is expected. It blocks until then, for ten minutes, or until ctx ends.
func (b *ComingBack) Wait(ctx context.Context) (url.Values, error) {
	timer := time.NewTimer(ticketLife)
	defer timer.Stop()
	select {
	case query := <-b.came:
		return query, nil
	case <-timer.C:
		return nil, ErrNotBack
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
