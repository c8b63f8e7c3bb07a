package admin

import (
	"net/http"
	"strings"
)

// shown removes known secrets from every response if src can do so. The bodies of successful actions (status 200) pass
// unchanged: they are results of uses and pages of logins, which must work.
func shown(src any, next http.Handler) http.Handler {
	of, ok := src.(interface{ Shown(page []byte) []byte })
	if !ok {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&shownWriter{w, of.Shown, strings.HasPrefix(r.URL.Path, "/actions/")}, r)
	})
}

// shownWriter requires that handlers write a whole page, event or line at once.
type shownWriter struct {
	http.ResponseWriter
	shown func([]byte) []byte
	whole bool // what is written passes unchanged
}

// Write writes p without secrets.
func (w *shownWriter) Write(p []byte) (int, error) {
	if w.whole {
		return w.ResponseWriter.Write(p)
	}
	if _, err := w.ResponseWriter.Write(w.shown(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteHeader drops Content-Length, because removing secrets changes the length.
func (w *shownWriter) WriteHeader(code int) {
	w.whole = w.whole && code == http.StatusOK
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap supports http.ResponseController.
func (w *shownWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, if the underlying writer supports it.
func (w *shownWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
