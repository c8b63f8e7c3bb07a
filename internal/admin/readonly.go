package admin

import (
	"net/http"

	"goblin-actor/internal/status"
)

// headerReadOnly is sent by clients that promise to change nothing. The gateway refuses their actions.
const headerReadOnly = "Goblin-Read-Only"

// refuseReadOnly refuses all requests of read-only clients except GET and HEAD.
func refuseReadOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(headerReadOnly) != "" && r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "the gateway refused the action, because this console is read-only; start it without --read-only to act", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// DialReadOnly is Dial for a Source whose actions and uses the gateway refuses.
func DialReadOnly(path string) (status.Source, error) {
	source, err := Dial(path)
	if r, ok := source.(*remote); ok {
		r.readOnly = true
	}
	return source, err
}
