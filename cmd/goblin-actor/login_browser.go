package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// comingBack is where a browser comes back to on this machine, once.
type comingBack struct {
	url    string // what the authorization server is told
	server *http.Server
	came   chan url.Values // capacity 1
	shut   func()

	mu    sync.Mutex
	state string // what the login's answers have; "" = nothing is waited for yet
}

// newComingBack listens on a port of this machine, 0 = any.
func newComingBack(port uint16) (*comingBack, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	b := &comingBack{url: "http://" + l.Addr().String() + "/callback", came: make(chan url.Values, 1)}
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

func (b *comingBack) close() { b.shut() }

// serve takes what has the login's state, whoever brings it; other visitors learn nothing.
func (b *comingBack) serve(w http.ResponseWriter, r *http.Request) {
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

// wait returns what the browser brings.
func (b *comingBack) wait(ctx context.Context, state string) (url.Values, error) {
	b.mu.Lock()
	b.state = state
	b.mu.Unlock()
	timer := time.NewTimer(loginTime)
	defer timer.Stop()
	select {
	case query := <-b.came:
		return query, nil
	case <-timer.C:
		return nil, &exitError{exitFailed, fmt.Errorf("the browser did not come back within %v", loginTime), "try again; without a browser on this machine: --no-browser or --device"}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// openBrowser opens an address, which must be one of the web: what a server names is never handed to a shell.
func openBrowser(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return errors.New("that is no address of the web")
	}
	program, args := "xdg-open", []string{u.String()}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", u.String()}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it may go on as the browser itself
	return nil
}
