package admin

import (
	"net/http"
	"strings"
)

// shown removes known secrets from every response if src can do so. Responses to actions are protocol traffic and pass
// unchanged.
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

// shownWriter requires that handlers write a whole page, event or line at once.
type shownWriter struct {
	http.ResponseWriter
	shown func([]byte) []byte
}

// Write writes p without secrets.
func (w *shownWriter) Write(p []byte) (int, error) {
	if _, err := w.ResponseWriter.Write(w.shown(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteHeader drops Content-Length, because removing secrets changes the length.
func (w *shownWriter) WriteHeader(code int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap supports http.ResponseController.
func (w *shownWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, if the underlying writer supports it.
func (w *shownWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
