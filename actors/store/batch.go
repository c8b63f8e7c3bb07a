package store

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/audit"
)

// batch holds pending changes. An unknown era and a nil value delete the entry.
type batch struct {
	eras     map[string]message.KnownEra
	catalogs map[string]*message.KnownCatalog
	tokens   map[string]pendingToken
	audit    audit.Mark // zero = unchanged
}

// pendingToken is a login to be written or removed.
type pendingToken struct {
	value message.Token
	by    requestID
}

// requestID identifies the request that waits until a login is written; zero = none.
type requestID struct {
	from   kernel.Reference
	number uint64 // of the request
}

func newBatch() batch {
	return batch{eras: map[string]message.KnownEra{}, catalogs: map[string]*message.KnownCatalog{}, tokens: map[string]pendingToken{}}
}

func (b batch) empty() bool { return len(b.eras)+len(b.catalogs)+len(b.tokens) == 0 && b.audit.N == 0 }

// under adds the changes of an earlier batch, except those that b overrides.
func (b *batch) under(earlier batch) {
	if b.audit.N == 0 {
		b.audit = earlier.audit
	}
	lay(b.eras, earlier.eras)
	lay(b.catalogs, earlier.catalogs)
	lay(b.tokens, earlier.tokens)
}

func lay[V any](over, under map[string]V) {
	for k, v := range under {
		if _, newer := over[k]; !newer {
			over[k] = v
		}
	}
}

// withoutRequests returns the batch without the waiting requests, which have already been answered.
func (b batch) withoutRequests() batch {
	for key, token := range b.tokens {
		b.tokens[key] = pendingToken{value: token.value}
	}
	return b
}
