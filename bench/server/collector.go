package server

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// CollectorPath is the path at which a collector answers GET with the number of exports of spans that it has received.
const CollectorPath = "/v1/traces"

// ServeCollector receives OTLP over HTTP and discards it, until in ends. If hangs is set, it never answers an export.
func ServeCollector(in io.Reader, out io.Writer, hangs bool) error {
	var exports atomic.Int64
	return serveNetHTTP(in, out, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, exports.Load())
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == CollectorPath {
			exports.Add(1)
		}
		if hangs {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
}
