package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"goblin-actor/internal/decode"
)

// maxUseBytes bounds the body of /actions/call and /actions/read.
const maxUseBytes = 4 << 20

// Use is what the socket's owner does with an item of the catalog, named as clients name it.
type Use struct {
	Tool      string          `json:"tool"`      // call
	Arguments json.RawMessage `json:"arguments"` // call: an object; nil = none
	URI       string          `json:"uri"`       // read
}

// Answer is what became of a Use: one of the two, as the gateway answers its clients.
type Answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"` // {code, message, data}
}

// User carries out a Use as a client of the gateway, whose questions nobody answers. It blocks until the answer is
// there or ctx ends, and may be asked from many goroutines at once.
type User func(ctx context.Context, u Use) (Answer, error)

// use: 200 with the Answer, once the gateway has one. A reader that leaves cancels it.
func use(user User, verb string) http.HandlerFunc {
	want := map[string]string{"call": `{"tool": "files_read", "arguments": {}}`, "read": `{"uri": "resource://files/…"}`}[verb]
	return func(w http.ResponseWriter, r *http.Request) {
		var u Use
		err := decode.Reader(http.MaxBytesReader(w, r.Body, maxUseBytes), "the body", &u)
		switch {
		case err != nil:
		case (u.Tool != "") == (u.URI != "") || (u.Tool != "") != (verb == "call"):
			err = fmt.Errorf("the body is not what %s takes", verb)
		case len(u.Arguments) > 0 && !strings.HasPrefix(string(u.Arguments), "{"):
			err = fmt.Errorf("arguments in the body is not an object")
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("%v; want an object like %s", err, want), http.StatusBadRequest)
			return
		}
		answer, err := user(r.Context(), u)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		writeJSON(w, http.StatusOK, answer, r.URL.Query().Has("pretty"))
	}
}
