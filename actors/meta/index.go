package meta

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/blevesearch/bleve/v2/search/searcher"
	bleveindex "github.com/blevesearch/bleve_index_api"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

const (
	batchSize = 1000     // documents written at once
	maxIndex  = 64 << 20 // bytes of text in the index; items beyond that are not found
	maxText   = 4 << 10  // bytes of one item's text
	maxHeader = 512      // bytes of its name
)

// The fields of a document. A word in a name says more than one in a description.
const (
	fieldName  = "name"
	fieldText  = "text"
	nameWeight = 3
)

// index finds the items of the whole catalog by words, ranked by BM25. It is made at the first search and follows the snapshots
// from search to search. Safe from any goroutine.
type index struct {
	mu      sync.RWMutex
	bleve   bleve.Index // nil = not made yet
	version uint64      // of the snapshot it holds
	held    map[string]*catalog.Entry
	size    int // bytes of text it holds
	garbage int // documents that were replaced or deleted, and are in memory all the same
	closed  bool
}

// documentID names an item whatever clients call it.
func documentID(e *catalog.Entry) string {
	return string(rune('a'+e.Kind)) + e.Server.Name + "\x00" + e.Original
}

// seen returns the item of that document, if it is in view.
func seen(view *catalog.View, id string) *catalog.Entry {
	server, own, ok := strings.Cut(id, "\x00")
	if !ok || server == "" {
		return nil
	}
	return view.Entry(protocol.ItemKind(server[0]-'a'), server[1:], own)
}

// find returns the best n items that hold any of the words, are in view and admitted, and how many there are.
func (x *index) find(ctx context.Context, a *asked, text string, n int, admits func(*catalog.Entry) bool) ([]*catalog.Entry, int, error) {
	if err := x.follow(a.snapshot); err != nil {
		return nil, 0, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, 0, errGoing
	}
	inName, inText := bleve.NewMatchQuery(text), bleve.NewMatchQuery(text)
	inName.SetField(fieldName)
	inName.SetBoost(nameWeight)
	inText.SetField(fieldText)
	admitted := visible{bleve.NewDisjunctionQuery(inName, inText), func(id string) bool {
		e := seen(a.view, id)
		return e != nil && admits(e)
	}}
	request := bleve.NewSearchRequestOptions(admitted, n, 0, false)
	request.SortBy([]string{"-_score", "_id"})
	found, err := x.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, 0, fmt.Errorf("search: %w", err)
	}
	list := make([]*catalog.Entry, 0, len(found.Hits))
	for _, hit := range found.Hits {
		list = append(list, seen(a.view, hit.ID))
	}
	return list, int(found.Total), nil
}

// follow makes the index what the snapshot is. Only what differs is written.
func (x *index) follow(snapshot *catalog.Snapshot) error {
	x.mu.RLock()
	current := x.bleve != nil && x.version >= snapshot.Version
	x.mu.RUnlock()
	if current {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return errGoing
	case x.bleve != nil && x.version >= snapshot.Version: // somebody else was quicker
		return nil
	case x.bleve == nil || x.garbage > batchSize+len(x.held): // replaced documents go with the index that holds them
		if err := x.begin(); err != nil {
			return err
		}
	}
	if err := x.update(snapshot); err != nil { // nobody knows what was written: the next search begins anew
		_ = x.bleve.Close()
		x.bleve = nil
		return err
	}
	x.version = snapshot.Version
	return nil
}

// begin makes an empty index.
func (x *index) begin() error {
	fresh, err := bleve.NewUsing("", documents, scorch.Name, scorch.Name, nil)
	if err != nil {
		return fmt.Errorf("make the index: %w", err)
	}
	if x.bleve != nil {
		_ = x.bleve.Close() // it is in memory only
	}
	x.bleve, x.version, x.held, x.size, x.garbage = fresh, 0, map[string]*catalog.Entry{}, 0, 0
	return nil
}

// update writes what the snapshot has and the index has not, and deletes the rest.
func (x *index) update(snapshot *catalog.Snapshot) error {
	view, ok := snapshot.View(catalog.Key{})
	if !ok {
		return errGoing
	}
	batch := x.bleve.NewBatch()
	flush := func(least int) error {
		if batch.Size() < least {
			return nil
		}
		written := batch
		batch = x.bleve.NewBatch() // a goroutine of bleve's may still read the one that is written
		return x.bleve.Batch(written)
	}
	for id := range x.held {
		if seen(view, id) == nil {
			x.drop(id)
			batch.Delete(id)
		}
	}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		for _, e := range view.Entries(kind) {
			id := documentID(e)
			old := x.held[id]
			if old != nil && (old == e || bytes.Equal(old.Source, e.Source)) {
				x.held[id] = e // the older one need not be kept alive
				continue
			}
			if old != nil {
				x.drop(id)
				batch.Delete(id)
			}
			d := documentOf(e)
			if x.size += d.size(); x.size > maxIndex {
				x.size -= d.size()
				continue
			}
			x.held[id] = e
			if err := batch.Index(id, d); err != nil {
				return fmt.Errorf("index an item: %w", err)
			}
			if err := flush(batchSize); err != nil {
				return err
			}
		}
	}
	return flush(1)
}

// drop forgets an item.
func (x *index) drop(id string) {
	x.size -= documentOf(x.held[id]).size()
	delete(x.held, id)
	x.garbage++
}

// close gives the memory back. Whoever comes later is refused.
func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.bleve != nil {
		_ = x.bleve.Close() // it is in memory only
		x.bleve, x.held = nil, nil
	}
}

// document is an item as it is searched.
type document struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (d document) size() int { return len(d.Name) + len(d.Text) }

func documentOf(e *catalog.Entry) document {
	item, err := protocol.ParseItem(e.Source)
	if err != nil {
		return document{} // cannot be: the catalog has parsed it
	}
	text := func(span protocol.Span, limit int) string {
		s, _ := protocol.Unquote(span.Of(item.Raw))
		return words(s[:min(len(s), limit)])
	}
	own := words(e.Original[:min(len(e.Original), maxHeader)])
	name := text(item.Title, maxHeader)
	if e.Kind == protocol.Resources || e.Kind == protocol.Templates {
		name = text(item.Name, maxHeader) + " " + name
	}
	return document{own + " " + name + " " + words(e.Server.Name), text(item.Description, maxText)}
}

// analyzer makes words of text: words(text) has split names already.
const analyzer = "words"

// documents says how they are indexed: nothing is stored, BM25 ranks.
var documents = func() mapping.IndexMapping {
	m := bleve.NewIndexMapping()
	m.ScoringModel = bleveindex.BM25Scoring
	err := m.AddCustomAnalyzer(analyzer, map[string]any{
		"type": custom.Name, "tokenizer": unicode.Name, "token_filters": []string{lowercase.Name, en.StopName, porter.Name},
	})
	if err != nil {
		panic(err)
	}
	m.DefaultAnalyzer = analyzer
	m.DefaultMapping = bleve.NewDocumentStaticMapping()
	for _, name := range []string{fieldName, fieldText} {
		field := bleve.NewTextFieldMapping()
		field.Analyzer, field.Store, field.IncludeInAll, field.IncludeTermVectors, field.DocValues = analyzer, false, false, false, false
		m.DefaultMapping.AddFieldMappingsAt(name, field)
	}
	return m
}()

// visible finds of what another query finds only what may be shown: neither an item nor a count tells of the rest.
type visible struct {
	query.Query
	shows func(id string) bool
}

// Searcher implements query.Query.
func (v visible) Searcher(ctx context.Context, reader bleveindex.IndexReader, m mapping.IndexMapping, options search.SearcherOptions) (search.Searcher, error) {
	all, err := v.Query.Searcher(ctx, reader, m, options)
	if err != nil {
		return nil, err
	}
	return searcher.NewFilteringSearcher(ctx, all, func(_ *search.SearchContext, d *search.DocumentMatch) bool {
		id, err := reader.ExternalID(d.IndexInternalID)
		return err == nil && v.shows(id)
	}), nil
}
