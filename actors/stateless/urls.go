package stateless

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// maxURLRounds is how often a server may ask the client to open URLs in one call.
const maxURLRounds = 3

// askedURLsMark begins the inner state of a call that is repeated after its client was asked to open URLs. The number of rounds and a
// digest of the URLs follow. The state of a server is JSON, so it cannot begin with the mark.
const askedURLsMark = 'v'

// relayURLs turns a legacy server's error -32042 into server requests to open its URLs. The retry calls the server again. If the
// server then names the same URLs again, the user was too slow or opening them has not helped, and asking again would only open
// more windows. In this case, and after maxURLRounds rounds, the server's error is passed on.
func (s *state) relayURLs(now time.Time, v *heldCall, f *protocol.Frame, requests []protocol.InputRequest, out []kernel.Effect) []kernel.Effect {
	if !v.caller.Can.Answers(protocol.InputURL) {
		return s.cannotAnswer(now, v, protocol.InputURL, out)
	}
	places := urlDigest(f)
	if n := len(v.askedURLs); n > 1 && (v.askedURLs[1] >= maxURLRounds || bytes.Equal(v.askedURLs[2:], places)) {
		return s.relayed(now, v, rawjson.AppendEdited(nil, f.Raw, protocol.TranslateError(nil, v.Method, f, nil, protocol.EraModern)...), out)
	}
	inner := []byte{askedURLsMark, 1}
	if len(v.askedURLs) > 1 {
		inner[1] += v.askedURLs[1]
	}
	state, err := s.seal(now, v, seal.Relayed, append(inner, places...))
	if err != nil {
		return s.calls.Apply(now, v.Seq, call.Broken{Fault: tooLargeFault(v)}, out)
	}
	return s.relayed(now, v, protocol.AppendInputRequired(nil, []byte("0"), requests, state, v.View.ServerInfo()), out)
}

// askedURLsIn returns the inner state of a call that is repeated after URLs were requested; nil = the state is a server's own.
func askedURLsIn(state *seal.State) []byte {
	if isAskedURLs(state.Inner) {
		return state.Inner
	}
	return nil
}

func isAskedURLs(inner []byte) bool {
	return len(inner) == 2+sha256.Size && inner[0] == askedURLsMark
}

// urlDigest returns a digest of the URLs in an error -32042, without queries and fragments, which may differ each time.
func urlDigest(f *protocol.Frame) []byte {
	h := sha256.New()
	protocol.URLElicitations(f, func(params rawjson.Span) bool {
		url, _ := rawjson.Unquote(rawjson.Member(f.Raw, params, "url").Of(f.Raw))
		if i := strings.IndexAny(url, "?#"); i >= 0 {
			url = url[:i]
		}
		_, _ = fmt.Fprintf(h, "%q\n", url) // writing to a hash never fails
		return true
	})
	return h.Sum(nil)
}

// urlRequests returns the server requests for an error -32042 of a legacy server, or nil if f is not one.
func urlRequests(f *protocol.Frame) []protocol.InputRequest {
	var requests []protocol.InputRequest
	protocol.URLElicitations(f, func(params rawjson.Span) bool {
		key := fmt.Sprintf("q%d", len(requests)+1)
		requests = append(requests, protocol.InputRequest{Key: key, Value: protocol.AppendURLRequest(nil, f, params)})
		return true
	})
	return requests
}
