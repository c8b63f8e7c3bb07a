package meta

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
)

// fieldWeights says what a word in each field counts, and how many words such a field usually has. In a longer one each
// counts less; in a shorter one more, if the divisor may get below 1.
var fieldWeights = [fields]struct{ weight, usual, least float64 }{
	fieldName:       {3, 3, 0.5},
	fieldTitle:      {1.5, 3, 1},
	fieldSummary:    {1.5, 8, 1},
	fieldText:       {0.5, 40, 1},
	fieldParameters: {0.5, 8, 1},
	fieldDetails:    {0.25, 40, 1},
	fieldServer:     {0.5, 2, 1},
}

const (
	saturation = 2    // BM25's k1: how soon more of the same word says nothing new
	lengthPart = 0.75 // BM25's b: how much less a word of a long text says
	othersPart = 0.35 // what a concept's other terms count beside the best one
	evidence   = 0.1  // weight of a posting from which on a document is taken to have a concept
	nameBonus  = 0.4  // added for an item whose whole name the query is about, and for a part of it in proportion
	otherKinds = 0.8  // what prompts, resources and templates score beside tools, which most searches are for
)

// maxTerms bounds the different terms, each of which takes some 150 bytes; words that come later are not found. The English of a hundred
// thousand tools is a tenth of that.
const maxTerms = 1 << 20

// ranking finds documents by terms: of each term it has the documents with it. What is dropped stays in memory until a new one is made.
type ranking struct {
	terms    map[string]*postings
	spelling spelling
	docs     []ranked
	alive    int       // of docs
	used     sync.Pool // of tallies
}

// ranked is a document; its number is its place in docs.
type ranked struct {
	id   string
	gone bool
	name float32 // words in its name
}

// postings are the documents that have a term, by number.
type postings struct {
	list []posting
}

// posting says how much a document is about a term: how often it has it, in which fields.
type posting struct {
	doc    uint32 // with inName, if the item's name has the term
	weight float32
}

// inName is a bit of a posting's doc.
const inName = 1 << 31

// number returns the document's number.
func (p posting) number() uint32 { return p.doc &^ inName }

func newRanking() *ranking { return &ranking{terms: map[string]*postings{}, spelling: spelling{}} }

// add takes a document in and returns its number.
func (r *ranking) add(id string, texts [fields][]string) (number int) {
	number = len(r.docs)
	for field, terms := range texts {
		f := fieldWeights[field]
		weight := float32(f.weight / max(f.least, 1-lengthPart+lengthPart*float64(len(terms))/f.usual))
		doc := uint32(number)
		if field == fieldName {
			doc |= inName
		}
		for _, term := range terms {
			r.post(term, posting{doc, weight})
		}
	}
	r.docs = append(r.docs, ranked{id: id, name: float32(nameWords(texts[fieldName]))})
	r.alive++
	return number
}

func (r *ranking) post(term string, p posting) {
	has := r.terms[term]
	if has == nil {
		if len(r.terms) == maxTerms {
			return
		}
		has = new(postings)
		r.terms[term] = has
		r.spelling.add(term)
	}
	if n := len(has.list); n > 0 && has.list[n-1].number() == p.number() {
		has.list[n-1].weight += p.weight
		return
	}
	has.list = append(has.list, p)
}

// drop removes a document from all later results.
func (r *ranking) drop(number int) {
	r.alive--
	r.docs[number] = ranked{gone: true}
}

// hit is a document that was found.
type hit struct {
	id    string
	score float64
}

// better orders hits: the best first, equals by id.
func better(x, y hit) int {
	return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.id, y.id))
}

// tally is what a search has found of one document.
type tally struct {
	score   float32 // of the concepts until now
	matched float32 // weight of the concepts that it has
	best    float32 // of the current concept's terms
	sum     float32 // of all its terms
	part    float32 // of the concept that it has
	named   float32 // words of its name that the concepts are about
	inName  float32 // part of the current concept that its name has
	seen    bool
}

// best returns the best n documents that have any of the concepts and are shown, and how many there are. An error is that of ctx.
// shows may ask which other documents match.
func (r *ranking) best(ctx context.Context, concepts []concept, n int, shows func(id string, matches func(number int) bool) bool) (found []hit, total int, err error) {
	tallies := r.clean()
	whole := 0.0
	var touched, all []uint32
	for i := range concepts {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		whole += concepts[i].weight
		touched = r.count(&concepts[i], tallies, touched[:0])
		for _, number := range touched {
			if t := &tallies[number]; !t.seen {
				t.seen = true
				all = append(all, number)
			}
		}
	}
	matches := func(number int) bool { return tallies[number].seen }
	room := max(2*n, 64)
	for i, number := range all {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		t, doc := &tallies[number], &r.docs[number]
		if doc.gone || !shows(doc.id, matches) {
			continue
		}
		total++
		score := float64(t.score*t.matched) / whole // so that a document with all concepts comes before one with a rare one only
		score *= 1 + nameBonus*float64(min(1, t.named/doc.name))
		if doc.id[0] != toolID {
			score *= otherKinds
		}
		if found = append(found, hit{doc.id, score}); len(found) == room {
			slices.SortFunc(found, better)
			found = found[:n]
		}
	}
	slices.SortFunc(found, better)
	for _, number := range all {
		tallies[number] = tally{}
	}
	r.used.Put(&tallies)
	return found[:min(n, len(found))], total, nil
}

// clean returns a zero tally for each document, of an earlier search if there is one.
func (r *ranking) clean() []tally {
	if used, ok := r.used.Get().(*[]tally); ok && len(*used) >= len(r.docs) {
		return *used
	}
	return make([]tally, len(r.docs))
}

// count adds to the tallies what a concept says about each document. touched is room for their numbers.
func (r *ranking) count(c *concept, tallies []tally, touched []uint32) []uint32 {
	least := 0
	for i, t := range c.terms {
		has := r.terms[t.term]
		if has == nil {
			continue
		}
		having := r.having(has.list)
		if i == 0 && t.weight == 1 && !c.phrase {
			least = having
		}
		n := float64(max(having, least)) // a rare synonym says no more than the word itself
		rarity := float32(t.weight * math.Log(1+(float64(r.alive)-n+0.5)/(n+0.5)))
		for _, p := range has.list {
			d := &tallies[p.number()]
			if d.sum == 0 {
				touched = append(touched, p.number())
			}
			score := rarity * p.weight / (p.weight + saturation)
			d.sum += score
			d.best = max(d.best, score)
			if p.doc&inName != 0 {
				d.inName = max(d.inName, float32(t.weight))
			}
			d.part = max(d.part, float32(t.weight)*min(1, p.weight/evidence))
		}
	}
	for _, number := range touched {
		d := &tallies[number]
		d.score += float32(c.weight) * (d.best + othersPart*(d.sum-d.best))
		d.matched += float32(c.weight) * d.part
		d.named += d.inName
		d.best, d.sum, d.part, d.inName = 0, 0, 0, 0
	}
	return touched
}

// having is how many documents of a list are alive.
func (r *ranking) having(list []posting) (n int) {
	if r.alive == len(r.docs) {
		return len(list)
	}
	for _, p := range list {
		if !r.docs[p.number()].gone {
			n++
		}
	}
	return n
}

// nameWords counts the words of a name: of several, the whole written together is the last term.
func nameWords(terms []string) int {
	if len(terms) > 2 {
		return len(terms) - 1
	}
	return max(1, len(terms))
}
