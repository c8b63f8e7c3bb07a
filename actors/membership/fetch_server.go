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
	data     []byte
	question []byte
}

// serverAnswer is the answer to a serverQuestion.
type serverAnswer struct {
	serverQuestion
	payload []byte
	err     error
}

// fetchFirst begins to ask for a server's catalog, unless that is going on.
func (s *state) fetchFirst(m message.FetchCatalog, out []kernel.Effect) []kernel.Effect {
	if _, running := s.join.servers[m.Server]; running {
		return out
	}
	return s.fetchServer(serverQuestion{FetchCatalog: m}, "0/"+m.Server, out)
}

// fetchServer asks a node with the same configuration for a part of a server's catalog.
func (s *state) fetchServer(q serverQuestion, after string, out []kernel.Effect) []kernel.Effect {
	p := s.peers[q.Incarnation]
	if p == nil || p.beat.Config != s.facts.Config || q.parts >= maxCatalogParts {
		return out
	}
	if s.join.servers == nil {
		s.join.servers = map[string]struct{}{}
	}
	s.join.servers[q.Server] = struct{}{}
	query := cluster.Query{Cluster: s.options.Cluster, From: s.own.incarnation, Kind: cluster.QueryCatalogs, After: after}
	q.question = query.Encode()
	return append(out, kernel.Act(q))
}

// fetchedServer asks for the next part, or passes the complete catalog on to the gateway. After a failure, the server's pool asks again.
func (s *state) fetchedServer(now time.Time, m serverAnswer, out []kernel.Effect) []kernel.Effect {
	delete(s.join.servers, m.Server)
	if m.err != nil {
		return out
	}
	a, err := cluster.ParseAnswer(m.payload)
	if err != nil || a.Cluster != s.options.Cluster {
		return s.malformed(now, err, out)
	}
	part := a.Catalog
	if part == nil || part.Server != m.Server || part.Offset != len(m.data) { // the node does not know the catalog yet, or it has changed
		return out
	}
	m.data = append(m.data, part.Data...)
	if part.Last() {
		return append(out, kernel.Act(heardCatalog{&cluster.CatalogPart{Server: m.Server, Size: len(m.data), Data: m.data}}))
	}
	m.parts++
	return s.fetchServer(m.serverQuestion, a.Next, out)
}
