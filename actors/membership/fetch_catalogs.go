package membership

import (
	"context"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// maxCatalogParts limits how many parts of catalogs a node that joins asks for.
const maxCatalogParts = 1024

// joinCatalogs says how far a node that starts has asked another one for the catalogs of the servers.
type joinCatalogs struct {
	from  string    // incarnation of the node that is asked; "" = none
	next  string    // where the next part begins
	parts int       // received so far
	at    time.Time // of the last question
	all   bool      // nothing more is asked for
	done  bool      // and clients of this node see the catalogs
}

// Effects and messages.
type (
	fetchCatalog struct { // asks for a part of the catalogs; fetchedCatalog follows
		incarnation string
		question    []byte
	}
	fetchedCatalog struct {
		incarnation string
		payload     []byte
		err         error
	}
	answerCatalog struct {
		after  string
		reply  func([]byte)
		answer cluster.Answer // complete except for Catalog and Next
	}
	heardCatalog  struct{ part *cluster.CatalogPart } // tells the gateway
	showCatalogs  struct{}                            // asks the gateway to show its clients the catalogs; catalogsShown follows
	catalogsShown struct{}
)

// Class is Outcome: it answers showCatalogs.
func (catalogsShown) Class() kernel.Class { return kernel.Outcome }

// fetchCatalogs asks a node that is ready and has the same configuration for the catalogs of the servers, while this node starts.
func (s *state) fetchCatalogs(now time.Time, p *peer, out []kernel.Effect) []kernel.Effect {
	c := &s.join.catalogs
	if s.join.done || c.all || p.beat.Joining || p.beat.Config != s.facts.Config || c.from != "" && now.Sub(c.at) < queryTime {
		return out
	}
	*c = joinCatalogs{from: p.beat.Incarnation}
	return s.fetchCatalogPart(now, out)
}

func (s *state) fetchCatalogPart(now time.Time, out []kernel.Effect) []kernel.Effect {
	c := &s.join.catalogs
	c.at = now
	q := cluster.Query{Cluster: s.options.Cluster, From: s.own.incarnation, Kind: cluster.QueryCatalogs, After: c.next}
	return append(out, kernel.Act(fetchCatalog{c.from, q.Encode()}))
}

// fetchedCatalog passes a part on to the gateway, and asks for the next one. After a failure, the next beat of any node begins again from the start.
func (s *state) fetchedCatalog(now time.Time, m fetchedCatalog, out []kernel.Effect) []kernel.Effect {
	c := &s.join.catalogs
	if s.join.done || c.all || m.incarnation != c.from {
		return out
	}
	if m.err != nil {
		c.from = ""
		return out
	}
	a, err := cluster.ParseAnswer(m.payload)
	if err != nil || a.Cluster != s.options.Cluster {
		c.all, c.done = true, true
		return s.malformed(now, err, out)
	}
	if a.Catalog != nil {
		out = append(out, kernel.Act(heardCatalog{a.Catalog}))
	}
	if c.parts++; a.Next == "" || a.Next == c.next || c.parts >= maxCatalogParts {
		c.all = true
		return append(out, kernel.Act(showCatalogs{}))
	}
	c.next = a.Next
	return s.fetchCatalogPart(now, out)
}

// catalogAct executes an effect that is about catalogs of a node that joins.
func (m *membership) catalogAct(self kernel.Self, act any) {
	switch a := act.(type) {
	case fetchCatalog:
		self.Go(func(ctx context.Context) any {
			payload, err := m.ask(ctx, a.incarnation, a.question, queryTime)
			return fetchedCatalog{a.incarnation, payload, err}
		})
	case serverQuestion:
		self.Go(func(ctx context.Context) any {
			payload, err := m.ask(ctx, a.Incarnation, a.question, queryTime)
			return serverAnswer{a, payload, err}
		})
	case answerCatalog:
		if m.ListCatalogs == nil {
			a.reply(a.answer.Encode())
			return
		}
		m.ListCatalogs(a.after, func(part *cluster.CatalogPart, next string) {
			answer := a.answer
			answer.Catalog, answer.Next = part, next
			a.reply(answer.Encode())
		})
	case heardCatalog:
		if m.Catalog != nil {
			m.Catalog(a.part)
		}
	case showCatalogs:
		if m.ShowCatalogs == nil {
			self.Next(catalogsShown{})
			return
		}
		ref := self.Reference()
		m.ShowCatalogs(func() { ref.Tell(catalogsShown{}) })
	}
}
