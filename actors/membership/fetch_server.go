package membership

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
)

// serverQuestion asks a node for a part of one server's catalog. It is an effect; serverAnswer follows.
type serverQuestion struct {
	message.FetchCatalog
	parts    int // received so far
	question []byte
}

// serverAnswer is the answer to a serverQuestion.
type serverAnswer struct {
	serverQuestion
	payload []byte
	err     error
}

// fetchServer asks a node with the same configuration for a part of a server's catalog.
func (s *state) fetchServer(q serverQuestion, after string, out []kernel.Effect) []kernel.Effect {
	p := s.peers[q.Incarnation]
	if p == nil || p.beat.Config != s.facts.Config || q.parts >= maxCatalogParts {
		return out
	}
	query := cluster.Query{Cluster: s.options.Cluster, From: s.own.incarnation, Kind: cluster.QueryCatalogs, After: after}
	q.question = query.Encode()
	return append(out, kernel.Act(q))
}

// fetchedServer passes a part on to the gateway, and asks for the next one. After a failure, the server's pool asks again.
func (s *state) fetchedServer(now time.Time, m serverAnswer, out []kernel.Effect) []kernel.Effect {
	if m.err != nil {
		return out
	}
	a, err := cluster.ParseAnswer(m.payload)
	if err != nil || a.Cluster != s.options.Cluster {
		return s.malformed(now, err, out)
	}
	if a.Catalog == nil || a.Catalog.Server != m.Server { // the node does not know the server's catalog yet
		return out
	}
	out = append(out, kernel.Act(heardCatalog{a.Catalog}))
	if a.Catalog.Last() {
		return out
	}
	m.parts++
	return s.fetchServer(m.serverQuestion, a.Next, out)
}
