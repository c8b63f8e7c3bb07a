package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"
)

// ServeProxy serves an httputil.ReverseProxy for target, with a large connection pool and pooled copy buffers. It
// prints its URL on out and ends when in ends.
func ServeProxy(in io.Reader, out io.Writer, target string) error {
	to, err := url.Parse(target)
	if err != nil {
		return err
	}
	to.Path = "" // keep the client's path
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.BufferPool = &buffers{pool: sync.Pool{New: func() any { return new([32 << 10]byte) }}}
	proxy.Transport = &http.Transport{
		MaxIdleConns:        4096,
		MaxIdleConnsPerHost: 4096,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	}
	return serveNetHTTP(in, out, proxy)
}

// ServeStatic answers every request with the content of a file. It is the baseline for a list that needs no computation.
func ServeStatic(in io.Reader, out io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	length := strconv.Itoa(len(text))
	return serveNetHTTP(in, out, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(text)
	}))
}

func serveNetHTTP(in io.Reader, out io.Writer, h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(out, "http://%s/mcp\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// buffers is an httputil.BufferPool. It stores array pointers, so that Put does not allocate.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte  { return b.pool.Get().(*[32 << 10]byte)[:] }
func (b *buffers) Put(x []byte) { b.pool.Put((*[32 << 10]byte)(x)) }
