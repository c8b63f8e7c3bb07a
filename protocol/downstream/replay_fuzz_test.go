package downstream

import (
	"strings"
	"testing"

	"goblin-actor/protocol"
)

// No Last-Event-ID causes a panic, and only an id that was sent leads to a track.
func FuzzReplayFind(f *testing.F) {
	for _, id := range []string{"", "x", "-", "TAG", "TAG-", "TAG-p", "TAG-p1-0", "TAG-p1-1", "TAG-p1-2", "TAG-p1-3", "TAG-g2-0", "TAG-g1-0",
		"TAG-p1-01", "TAG-p+1-1", "TAG-p1-zzzzzzzzzzzzzzzz", "TAG-p1-1-1", "aaaaaaaa-p1-1"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		r := NewReplay(ReplayOptions{})
		defer r.Close()
		call, stream := r.open(true, nil, &httpExchange{}, nil), r.open(false, nil, nil, &httpStream{})
		call.deliverForTest("a", "b")
		id = strings.ReplaceAll(id, "TAG", r.tag)
		got, after, why := r.find(id)
		switch {
		case got == nil && (why == ResumedNothing || why == ResumeGone):
		case got == call && after <= 2 && strings.HasPrefix(id, r.tag+"-p"):
		case got == stream && after == 0 && strings.HasPrefix(id, r.tag+"-g"):
		default:
			t.Errorf("%q: %v, %d, %v", id, got, after, why)
		}
	})
}

// deliverForTest sends messages on the track.
func (t *track) deliverForTest(words ...string) {
	var q outboxQueue
	for _, word := range words {
		q.push(protocol.Message{Frame: []byte(word)}, WeightAnswer, outboxKey{})
	}
	t.appendEvents(nil, &q, streamBatch)
}

// queryValue finds a session only in a query that has the parameter sessionId.
func FuzzQueryValue(f *testing.F) {
	for _, query := range []string{"", "sessionId", "sessionId=", "sessionId=a", "a=b&sessionId=a%20b+c", "sessionId=%", "&&=&sessionId==", "xsessionId=1&sessionId=2"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		value := queryValue([]byte(query), sessionParam)
		if value != nil && !strings.HasPrefix(query, sessionParam) && !strings.Contains(query, "&"+sessionParam) {
			t.Errorf("%q: %q", query, value)
		}
	})
}
