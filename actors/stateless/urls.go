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

// maxVisits is how often a server may name other places in one call.
const maxURLRounds = 3

// visited marks the inner state of a call that begins anew after its client was asked to open URLs; a server's own state is
// JSON. Behind it stand how often that was, and a digest of the places.
const askedURLsMark = 'v'

// relayURLs turns a legacy server's error -32042 into the questions it means; the retry calls the server anew. Each place is
// asked for once: a server that goes on to name it waits for something that does not happen, or that takes a person longer
// than the retry, and to ask again and again would open one window after the other. Its error is passed on then.
func (s *state) relayURLs(now time.Time, v *heldCall, f *protocol.Frame, requests []protocol.InputRequest, out []kernel.Effect) []kernel.Effect {
	if !v.caller.Can.Answers(protocol.QuestionURL) {
		return s.cannotAnswer(now, v, protocol.QuestionURL, out)
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

// visitedIn is what a state says of URLs that were asked for; nil = it is a server's own.
func askedURLsIn(state *seal.State) []byte {
	if len(state.Inner) == 2+sha256.Size && state.Inner[0] == askedURLsMark {
		return state.Inner
	}
	return nil
}

// placesOf is a digest of the URLs in an error -32042 without what may differ each time.
func urlDigest(f *protocol.Frame) []byte {
	h := sha256.New()
	protocol.URLElicitations(f, func(params rawjson.Span) bool {
		url, _ := rawjson.Unquote(rawjson.Member(f.Raw, params, "url").Of(f.Raw))
		if i := strings.IndexAny(url, "?#"); i >= 0 {
			url = url[:i]
		}
		_, _ = fmt.Fprintf(h, "%q\n", url) // a hash takes everything
		return true
	})
	return h.Sum(nil)
}

// urlRequests are the questions in a legacy server's error -32042; nil when there is none.
func urlRequests(f *protocol.Frame) []protocol.InputRequest {
	var requests []protocol.InputRequest
	protocol.URLElicitations(f, func(params rawjson.Span) bool {
		key := fmt.Sprintf("q%d", len(requests)+1)
		requests = append(requests, protocol.InputRequest{Key: key, Value: protocol.AppendURLRequest(nil, f, params)})
		return true
	})
	return requests
}
