package store

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/audit"
)

// batch is what is to be written. What is unknown, or nil, is deleted.
type batch struct {
	eras     map[string]message.KnownEra
	catalogs map[string]*message.KnownCatalog
	tokens   map[string]keptToken
	audit    audit.Mark // zero = nothing new is known
}

// keptToken is a login on its way to the file.
type keptToken struct {
	value message.Token
	by    waiting
}

// waiting is who hears what becomes of a login; zero = nobody.
type waiting struct {
	from   kernel.Reference
	number uint64 // of what was asked
}

func newBatch() batch {
	return batch{eras: map[string]message.KnownEra{}, catalogs: map[string]*message.KnownCatalog{}, tokens: map[string]keptToken{}}
}

func (b batch) empty() bool { return len(b.eras)+len(b.catalogs)+len(b.tokens) == 0 && b.audit.N == 0 }

// under adds what an earlier batch has and this one has not.
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

// unheard is the batch without those who hear of it: they have been told.
func (b batch) unheard() batch {
	for key, token := range b.tokens {
		b.tokens[key] = keptToken{value: token.value}
	}
	return b
}
