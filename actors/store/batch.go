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
	tokens   map[string]keptToken
	audit    audit.Mark // zero = unchanged
}

// keptToken is a login that is being written.
type keptToken struct {
	value message.Token
	by    waiting
}

// waiting identifies the request for which a login is written; zero = none.
type waiting struct {
	from   kernel.Reference
	number uint64 // of the request
}

func newBatch() batch {
	return batch{eras: map[string]message.KnownEra{}, catalogs: map[string]*message.KnownCatalog{}, tokens: map[string]keptToken{}}
}

func (b batch) empty() bool { return len(b.eras)+len(b.catalogs)+len(b.tokens) == 0 && b.audit.N == 0 }

// under adds the changes of an earlier batch that b does not override.
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

// unheard returns the batch without the waiting requests, which have been answered.
func (b batch) unheard() batch {
	for key, token := range b.tokens {
		b.tokens[key] = keptToken{value: token.value}
	}
	return b
}
