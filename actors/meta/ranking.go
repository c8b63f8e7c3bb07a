package meta

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
)

// fieldWeights holds the weight of a word in each field and the usual number of words there. In a longer field each
// word counts less. In a shorter one it counts more, if least allows a divisor below 1.
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
	saturation = 2    // BM25's k1: saturation of repeated words
	lengthPart = 0.75 // BM25's b: how much a long text lowers the score
	othersPart = 0.35 // weight of a concept's other matching terms relative to the best one
	evidence   = 0.1  // a posting of this weight counts as a full match of a concept
	nameBonus  = 0.4  // bonus for an item whose whole name matches; a partial match gets a proportional part
	otherKinds = 0.8  // factor for prompts, resources and templates, because most searches are for tools
)

// maxTerms limits the number of distinct terms, each of which takes about 150 bytes. Later terms are not found. The
// English texts of a hundred thousand tools have a tenth of that.
const maxTerms = 1 << 20

// ranking is an inverted index: it maps each term to the documents that contain it. Dropped documents take memory
// until a new ranking is built.
type ranking struct {
	terms    map[string]*postings
	spelling spelling
	docs     []ranked
	alive    int       // number of docs not dropped
	used     sync.Pool // tallies, for reuse
}

// ranked is a document. Its number is its index in docs.
type ranked struct {
	id   string
	gone bool
	name float32 // number of words in its name
}

// postings lists the documents that contain a term, by number.
type postings struct {
	list []posting
}

// posting is the weight of a term in a document, from its frequency and the fields.
type posting struct {
	doc    uint32 // the number, with the bit inName if the item's name has the term
	weight float32
}

// inName is a bit of posting.doc.
const inName = 1 << 31

// number returns the number of the posting's document.
func (p posting) number() uint32 { return p.doc &^ inName }

func newRanking() *ranking { return &ranking{terms: map[string]*postings{}, spelling: spelling{}} }

// add indexes a document and returns its number.
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

// hit is a search result.
type hit struct {
	id    string
	score float64
}

// better orders hits by descending score, then by id.
func better(x, y hit) int {
	return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.id, y.id))
}

// tally accumulates the score of one document during a search.
type tally struct {
	score   float32 // of the concepts so far
	matched float32 // weight of the matched concepts
	best    float32 // score of the best term of the current concept
	sum     float32 // score of all terms of the current concept
	part    float32 // how much of the current concept the document has, up to 1
	named   float32 // words of its name that the concepts match
	inName  float32 // how much of the current concept its name matches
	seen    bool
}

// best returns the best n documents that match any of the concepts and for which the function shows returns true, and the
// number of all such documents. The function shows may ask whether another document matches. The only error is that of ctx.
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
		score := float64(t.score*t.matched) / whole // ranks a document with all concepts before one that has only a rare one
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

// clean returns a zero tally for each document, reusing those of an earlier search.
func (r *ranking) clean() []tally {
	if used, ok := r.used.Get().(*[]tally); ok && len(*used) >= len(r.docs) {
		return *used
	}
	return make([]tally, len(r.docs))
}

// count adds a concept's scores to the tallies and returns the numbers of the matching documents in touched.
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
		n := float64(max(having, least)) // a rare synonym must not count more than the word itself
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

// having returns the number of documents in list that are not dropped.
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

// nameWords returns the number of words in a name. The last term of a name with several words is their compound.
func nameWords(terms []string) int {
	if len(terms) > 2 {
		return len(terms) - 1
	}
	return max(1, len(terms))
}
