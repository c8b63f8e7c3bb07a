package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"goblin-actor/internal/decode"
)

// maxUseBytes limits the body of /actions/call and /actions/read.
const maxUseBytes = 4 << 20

// Use is a call or a read by the socket's owner, under the public name of the item.
type Use struct {
	Tool      string          `json:"tool"`      // for a call: public name of the tool
	Arguments json.RawMessage `json:"arguments"` // for a call: an object; nil = none
	URI       string          `json:"uri"`       // for a read: public URI of the resource
}

// Answer is the result of a Use, as an MCP client would receive it. Exactly one field is set.
type Answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"` // {code, message, data}
}

// User performs a Use as an MCP client of the gateway would, but answers no server requests. It blocks until the result
// is available or ctx ends. It is safe for concurrent use.
type User func(ctx context.Context, u Use) (Answer, error)

// use performs a Use and answers 200 with its Answer. A client that disconnects cancels it.
func use(user User, verb string) http.HandlerFunc {
	want := map[string]string{"call": `{"tool": "files_read", "arguments": {}}`, "read": `{"uri": "resource://files/…"}`}[verb]
	return func(w http.ResponseWriter, r *http.Request) {
		var u Use
		err := decode.Reader(http.MaxBytesReader(w, r.Body, maxUseBytes), "the body", &u)
		switch {
		case err != nil:
		case (u.Tool != "") == (u.URI != "") || (u.Tool != "") != (verb == "call"):
			err = fmt.Errorf("the body does not describe a %s", verb)
		case len(u.Arguments) > 0 && !strings.HasPrefix(string(u.Arguments), "{"):
			err = fmt.Errorf("arguments in the body must be an object")
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("%v; send an object such as %s", err, want), http.StatusBadRequest)
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
