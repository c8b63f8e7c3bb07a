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

// ErrNotBack is returned by Wait if the browser is not redirected in time.
var ErrNotBack = errors.New("the browser did not return from the login page in time")

// CallbackListener is a local listener for the redirect at the end of one login by browser.
type CallbackListener struct {
	URL string // redirect URI

	server    *http.Server
	redirects chan url.Values // parameters of the redirect; capacity 1
	shut      func()

	mu    sync.Mutex
	state string // the login's OAuth state parameter; "" = not yet known
}

// preferredPort is the port to listen on if it is free. A client registration is bound to a redirect URI, so using the
// same port again allows the next login to reuse it. Another program on the port gains nothing: a code is useless
// without the PKCE verifier.
const preferredPort = 8739

// listenLocal listens on a local port. For port 0 it tries preferredPort first, then any port.
func listenLocal(port uint16, listen func(network, address string) (net.Listener, error)) (net.Listener, error) {
	if port == 0 {
		if l, err := listen("tcp", fmt.Sprintf("127.0.0.1:%d", preferredPort)); err == nil {
			return l, nil
		}
	}
	return listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

// ListenCallback returns a listener for a redirect on a local port; 0 = any.
func ListenCallback(port uint16) (*CallbackListener, error) {
	l, err := listenLocal(port, net.Listen)
	if err != nil {
		return nil, err
	}
	b := &CallbackListener{URL: "http://" + l.Addr().String() + "/callback", redirects: make(chan url.Values, 1)}
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

// Close stops the listener.
func (b *CallbackListener) Close() { b.shut() }

// serve accepts a redirect with the login's state. The response to other requests reveals nothing.
func (b *CallbackListener) serve(w http.ResponseWriter, r *http.Request) {
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
		http.Error(w, "This page does not exist.", http.StatusNotFound)
		return
	}
	select {
	case b.redirects <- query:
	default: // a redirect has already arrived
	}
	fmt.Fprintln(w, "Return to the terminal, which shows whether you are logged in. You can close this page.")
}

// Expect sets the OAuth state parameter of the login. It must be called before the browser is sent to the login page,
// which may redirect immediately.
func (b *CallbackListener) Expect(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// Wait blocks until the redirect arrives and returns its parameters. It fails after ticketLife, or when ctx ends.
func (b *CallbackListener) Wait(ctx context.Context) (url.Values, error) {
	timer := time.NewTimer(ticketLife)
	defer timer.Stop()
	select {
	case query := <-b.redirects:
		return query, nil
	case <-timer.C:
		return nil, ErrNotBack
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
