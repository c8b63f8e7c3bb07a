package stateless

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// metaKey is the member of a server request's _meta in which a legacy server may name a key for the request, since
// legacy requests have no keys. The modern client sees that key. A client that knows it can answer in advance.
const metaKey = "goblin-actor/key"

const (
	maxKey  = 64 // bytes of a server's key
	maxKeys = 64 // keys of servers in one call; later server requests are numbered
)

// keyFor returns the key of a server request: the one its server gave, if it is valid and not used yet, else q1, q2 and so on.
// Keys are unique within the call.
func (v *heldCall) keyFor(f *protocol.Frame) (key string, named bool) {
	meta := rawjson.Member(f.Raw, f.Params, "_meta")
	key, ok := rawjson.Unquote(rawjson.Member(f.Raw, meta, metaKey).Of(f.Raw))
	if ok && isKey(key) && len(v.serverKeys) < maxKeys && !slices.Contains(v.serverKeys, key) {
		v.serverKeys = append(v.serverKeys, key)
		return key, true
	}
	v.lastKey++
	return fmt.Sprintf("q%d", v.lastKey), false
}

// isKey reports whether a server's key is valid: a short word that cannot be confused with the gateway's own keys.
func isKey(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	ours := key[0] == 'q' && len(key) > 1
	for i := range len(key) {
		c := key[i]
		digit := c-'0' < 10
		if !digit && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' && c != '.' {
			return false
		}
		ours = ours && (i == 0 || digit)
	}
	return !ours
}

// earlyAnswer returns the answer that the client sent in advance, with its first request, under the server's key. It returns nil
// if there is no valid answer.
func (v *heldCall) earlyAnswer(key string, q protocol.InputKind) []byte {
	if v.round > 0 || len(v.exchanges) == 0 {
		return nil
	}
	x := v.exchanges[0]
	if !x.Params.InputResponses.Present() || x.Params.RequestState.Present() {
		return nil
	}
	answer := rawjson.Member(x.Frame.Raw, x.Params.InputResponses, key).Of(x.Frame.Raw)
	if answer == nil || !q.ValidAnswer(answer) {
		return nil
	}
	return answer
}

// questionKeys returns the keys of the open server requests in the order of arrival.
func (*state) questionKeys(v *heldCall) []string {
	asked := func(key string) uint64 { return v.questions[key].Key }
	return slices.SortedFunc(maps.Keys(v.questions), func(a, b string) int { return cmp.Compare(asked(a), asked(b)) })
}

// question is an open server request.
type question struct {
	message.ServerRequest
	text string // what the client has not done, for operators
}

// keepQuestion adds an open server request under its key.
func (v *heldCall) keepQuestion(key string, m message.ServerRequest) {
	if v.questions == nil {
		v.questions = map[string]question{}
	}
	v.questions[key] = question{m, clientcalls.WaitsFor(&m.Frame)}
}
