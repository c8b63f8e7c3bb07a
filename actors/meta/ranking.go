package meta

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// The fields of a document. A word in a name says more than one in a description.
const (
	fieldName = iota
	fieldText
	fields
)

const nameWeight = 3

// boosts say what a word in each field counts.
var boosts = [fields]float64{fieldName: nameWeight, fieldText: 1}

// BM25's usual constants: how soon more of the same word says nothing new (k1), and how much less a word of a long text says (b).
const (
	saturation = 1.2
	lengthPart = 0.75
)

// maxTerms bounds the different terms, each of which takes some 150 bytes; words that come later are not found. The English of a hundred
// thousand tools is a tenth of that.
const maxTerms = 1 << 20

// ranking finds documents by terms: of each term it has the documents with it. What is dropped stays in memory until a new one is made.
type ranking struct {
	terms   map[string]*[fields][]posting
	docs    []ranked
	alive   int         // of docs
	lengths [fields]int // terms in all that are alive
}

// ranked is a document; its number is its place in docs.
type ranked struct {
	id      string
	lengths [fields]int
	gone    bool
}

// posting says how often a document has a term.
type posting struct {
	doc   uint32
	times uint32
}

func newRanking() *ranking { return &ranking{terms: map[string]*[fields][]posting{}} }

// add takes a document in and returns its number.
func (r *ranking) add(id string, texts [fields][]string) (number int) {
	number = len(r.docs)
	doc := ranked{id: id}
	for field, terms := range texts {
		doc.lengths[field] = len(terms)
		r.lengths[field] += len(terms)
		for _, term := range terms {
			lists := r.terms[term]
			if lists == nil {
				if len(r.terms) == maxTerms {
					continue
				}
				lists = new([fields][]posting)
				r.terms[term] = lists
			}
			list := lists[field]
			if n := len(list); n > 0 && list[n-1].doc == uint32(number) {
				list[n-1].times++
				continue
			}
			lists[field] = append(list, posting{uint32(number), 1})
		}
	}
	r.docs = append(r.docs, doc)
	r.alive++
	return number
}

// drop has a document found no more.
func (r *ranking) drop(number int) {
	doc := &r.docs[number]
	for field, n := range doc.lengths {
		r.lengths[field] -= n
	}
	r.alive--
	*doc = ranked{gone: true}
}

// cursor goes through the documents that have a term in a field.
type cursor struct {
	rest   []posting
	field  int
	weight float64
	mean   float64 // terms a document has in the field
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

// best returns the best n documents that have any of the terms and are shown, and how many there are. An error is that of ctx.
func (r *ranking) best(ctx context.Context, terms []string, n int, shows func(id string) bool) (found []hit, total int, err error) {
	cursors := r.cursors(terms)
	room := max(2*n, 64)
	for looked := 0; ; looked++ {
		if looked%1024 == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		number, ok := nearest(cursors)
		if !ok {
			break
		}
		score := r.take(cursors, number, len(terms))
		doc := &r.docs[number]
		if doc.gone || !shows(doc.id) {
			continue
		}
		total++
		if found = append(found, hit{doc.id, score}); len(found) == room {
			slices.SortFunc(found, better)
			found = found[:n]
		}
	}
	slices.SortFunc(found, better)
	return found[:min(n, len(found))], total, nil
}

// cursors has one for each term in each field that some document has it in.
func (r *ranking) cursors(terms []string) (list []cursor) {
	for field, boost := range boosts {
		mean := max(1, float64(r.lengths[field])/float64(max(1, r.alive)))
		for _, term := range terms {
			lists := r.terms[term]
			if lists == nil || len(lists[field]) == 0 {
				continue
			}
			having := float64(r.having(lists[field]))
			rarity := math.Log(1 + (float64(r.alive)-having+0.5)/(having+0.5))
			list = append(list, cursor{lists[field], field, boost * rarity * rarity, mean})
		}
	}
	return list
}

// having is how many documents of a list are alive.
func (r *ranking) having(list []posting) (n int) {
	if r.alive == len(r.docs) {
		return len(list)
	}
	for _, p := range list {
		if !r.docs[p.doc].gone {
			n++
		}
	}
	return n
}

// nearest is the lowest number that a cursor has come to; false = all are through.
func nearest(cursors []cursor) (number uint32, ok bool) {
	number = math.MaxUint32
	for i := range cursors {
		if rest := cursors[i].rest; len(rest) > 0 && rest[0].doc <= number {
			number, ok = rest[0].doc, true
		}
	}
	return number, ok
}

// take moves the cursors that stand at a document behind it, and returns the document's score: of each field BM25's, times the part of
// the terms that it has, so that a document with all of them comes before one that has a rare one only; the same for fields.
func (r *ranking) take(cursors []cursor, number uint32, terms int) (score float64) {
	var sums [fields]float64
	var matched [fields]int
	doc := &r.docs[number]
	for i := range cursors {
		c := &cursors[i]
		if len(c.rest) == 0 || c.rest[0].doc != number {
			continue
		}
		often := math.Sqrt(float64(c.rest[0].times))
		sums[c.field] += c.weight * often * saturation / (often + saturation*(1-lengthPart+lengthPart*float64(doc.lengths[c.field])/c.mean))
		matched[c.field]++
		c.rest = c.rest[1:]
	}
	in := 0
	for field, n := range matched {
		score += sums[field] * float64(n) / float64(terms)
		in += min(n, 1)
	}
	return score * float64(in) / fields
}
