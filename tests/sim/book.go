package sim

import (
	"cmp"
	"strings"
	"time"
)

// callKey is what the gateway and a client both know of a finished call.
type callKey struct {
	client, who string
	server      string // "" = any
	method      string
	item        string // public name, or the server's own URI
	outcome     string // ok, cancelled, error for an error of the server, or the code of the gateway's error
}

// callBook is what clients know of the finished calls of a period.
type callBook struct {
	least  map[callKey]int // calls that have certainly ended so
	most   map[callKey]int // requests that were answered so; not each of them became a call
	unsure map[callKey]int // requests whose call, if there was one, may have ended in any way; without an outcome
}

// Names of the outcomes of calls.
const (
	outcomeOK       = "ok"
	outcomeCanceled = "cancelled"
	outcomeError    = "error"
)

// toolError is the error of a simulated server for a tool that fails. The gateway may change its code.
const toolError = "it did not work"

// endsOfCalls are the outcomes of requests that have certainly become calls.
var endsOfCalls = map[string]bool{outcomeOK: true, outcomeError: true, "TIMEOUT": true, "QUEUE_TIMEOUT": true, "QUEUE_FULL": true, "BACKEND_DISCONNECTED": true}

// isCall reports whether the request becomes a call if it is not refused.
func (a *clientRequest) isCall() bool {
	return a.nonce > 0 || a.method == "resources/read" || a.method == "completion/complete"
}

// key returns what the client knows of the request's call.
func (a *clientRequest) key(w *world) callKey {
	k := callKey{client: a.client.name, who: userOf(a.principal), method: strings.TrimSuffix(a.method, " again"), item: ownURI(a.item)}
	if a.nonce > 0 {
		k.item = w.toolOf[a.nonce]
	}
	k.server = serverOf(k.item)
	switch {
	case !a.failed:
		k.outcome = outcomeOK
	case a.message == toolError:
		k.outcome = outcomeError
	default:
		k.outcome = cmp.Or(a.code, "another error")
	}
	return k.anyServer()
}

// anyServer returns the key without the server if the call is a read that failed: if no server lists a resource, each server that may have it is asked.
func (k callKey) anyServer() callKey {
	if k.method == "resources/read" && k.outcome != outcomeOK {
		k.server = ""
	}
	return k
}

// unknown returns the key for requests whose outcome is not known.
func (k callKey) unknown() callKey {
	if k.outcome = ""; k.method == "resources/read" {
		k.server = ""
	}
	return k
}

// serverOf returns the name of the server that has an item.
func serverOf(item string) string {
	separator := "_"
	if uri, found := strings.CutPrefix(item, uriScheme); found {
		item, separator = uri, "/"
	}
	name, _, _ := strings.Cut(item, separator)
	return name
}

// uriScheme begins the URIs of simulated servers.
const uriScheme = "x://"

// ownURI returns the server's own form of a public URI. It returns names unchanged.
func ownURI(public string) string {
	return public[max(0, strings.Index(public, uriScheme)):]
}

// isOpen reports whether the client does not know how the request's call ended. It may not have read the answer, or the answer may
// have exceeded the buffer. A call that leads to input requests ends later if its server has sessions.
func (a *clientRequest) isOpen() bool {
	return a.abandoned || a.answers == 0 || a.inputRequired || a.code == "OVERLOADED"
}

// calls returns what clients know of a node's calls that began after since. A nil node stands for all nodes. The requests of one
// nonce may belong to one call, so they count once in callBook.least, if all of them were sent after since.
func (b *history) calls(w *world, n *node, since time.Time) callBook {
	book := callBook{map[callKey]int{}, map[callKey]int{}, map[callKey]int{}}
	first := map[int]time.Time{} // by nonce
	type end struct {
		nonce int
		key   callKey
	}
	counted := map[end]bool{}
	for _, a := range b.requests {
		if !a.isCall() || n != nil && a.servedBy() != n {
			continue
		}
		if _, again := first[a.nonce]; !again && a.nonce > 0 {
			first[a.nonce] = a.sent
		}
		k := a.key(w)
		if a.isOpen() {
			book.unsure[k.unknown()]++
			continue
		}
		if a.answered.After(since) {
			book.most[k]++
		}
		if !endsOfCalls[k.outcome] || !a.sent.After(since) || a.nonce > 0 && (counted[end{a.nonce, k}] || !first[a.nonce].After(since)) {
			continue
		}
		counted[end{a.nonce, k}] = true
		book.least[k]++
	}
	return book
}
