package membership

import (
	"errors"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
)

// A node asks another one with the same configuration for a server's catalog, part by part, and passes it on when it is complete. It ignores what it has not asked for, and stops
// after maxCatalogParts.
func TestFetchServerCatalog(t *testing.T) {
	now := time.Unix(1, 0)
	s := newState(&Options{Cluster: "c", Incarnation: "aaaaaaaa"})
	s.facts.Config = "same"
	s.peers["bbbbbbbb"] = &peer{beat: &cluster.Beat{Head: cluster.Head{Incarnation: "bbbbbbbb"}, Config: "same"}}
	s.peers["cccccccc"] = &peer{beat: &cluster.Beat{Head: cluster.Head{Incarnation: "cccccccc"}, Config: "other"}}
	question := func(incarnation string, parts int) serverQuestion {
		q := serverQuestion{FetchCatalog: message.FetchCatalog{Server: "x", Incarnation: incarnation}, parts: parts}
		if parts == 1 {
			q.data = []byte("12")
		}
		return q
	}
	for range 2 { // one question at a time
		s.fetchFirst(question("bbbbbbbb", 0).FetchCatalog, nil)
	}
	if out := s.fetchFirst(question("bbbbbbbb", 0).FetchCatalog, nil); len(out) != 0 {
		t.Error("the node is asked although it has not answered")
	}
	s.fetchedServer(now, serverAnswer{serverQuestion: question("bbbbbbbb", 0), err: errors.New("gone")}, nil)
	if out := s.fetchFirst(question("bbbbbbbb", 0).FetchCatalog, nil); len(out) != 1 {
		t.Error("the node is not asked again after a failure")
	}
	for incarnation, want := range map[string]int{"bbbbbbbb": 1, "cccccccc": 0, "dddddddd": 0} {
		if out := s.fetchServer(question(incarnation, 0), "0/x", nil); len(out) != want {
			t.Errorf("%s: %d questions, want %d", incarnation, len(out), want)
		}
	}
	part := func(server string, offset, size int) []byte {
		a := cluster.Answer{Revocations: cluster.Revocations{Cluster: "c", From: "bbbbbbbb"}, Catalog: &cluster.CatalogPart{Server: server, Offset: offset, Size: size, Data: []byte("12")}, Next: "2/x"}
		return a.Encode()
	}
	none := cluster.Answer{Revocations: cluster.Revocations{Cluster: "c", From: "bbbbbbbb"}}
	for name, c := range map[string]struct {
		answer serverAnswer
		want   string // "heard" and "asked", in the order of the effects
	}{
		"first part":     {serverAnswer{serverQuestion: question("bbbbbbbb", 0), payload: part("x", 0, 4)}, "asked "},
		"last part":      {serverAnswer{serverQuestion: question("bbbbbbbb", 1), payload: part("x", 2, 4)}, "heard "},
		"too many":       {serverAnswer{serverQuestion: question("bbbbbbbb", maxCatalogParts-1), payload: part("x", 0, 4)}, ""},
		"out of order":   {serverAnswer{serverQuestion: question("bbbbbbbb", 0), payload: part("x", 2, 4)}, ""},
		"another server": {serverAnswer{serverQuestion: question("bbbbbbbb", 0), payload: part("y", 0, 2)}, ""},
		"unknown":        {serverAnswer{serverQuestion: question("bbbbbbbb", 0), payload: none.Encode()}, ""},
		"failed":         {serverAnswer{serverQuestion: question("bbbbbbbb", 0), err: errors.New("gone")}, ""},
	} {
		got := ""
		for _, e := range s.fetchedServer(now, c.answer, nil) {
			switch e.Act.(type) {
			case heardCatalog:
				got += "heard "
			case serverQuestion:
				got += "asked "
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
