package admin

import (
	"net/http"
	"strings"
)

// shown writes what the gateway knows to be secret out of every page. Answers of actions are traffic of the protocol, which
// passes as it is.
func shown(src any, next http.Handler) http.Handler {
	of, ok := src.(interface{ Shown(page []byte) []byte })
	if !ok {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/actions/") {
			w = &shownWriter{w, of.Shown}
		}
		next.ServeHTTP(w, r)
	})
}

// shownWriter is for handlers that write whole pages, events or lines at once.
type shownWriter struct {
	http.ResponseWriter
	shown func([]byte) []byte
}

func (w *shownWriter) Write(p []byte) (int, error) {
	if _, err := w.ResponseWriter.Write(w.shown(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteHeader leaves the length to the server: the page may get shorter.
func (w *shownWriter) WriteHeader(code int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (w *shownWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, as far as what is below does.
func (w *shownWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
