package client

import (
	"strconv"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// bridgeAsk is a request of the gateway that the client has not answered.
type bridgeAsk struct {
	gen  uint64
	id   []byte // the gateway's raw id
	gone bool   // withdrawn: an answer is dropped, but the client still knows the id
}

// asked forwards a request of the gateway to the client. It changes the id if the client still has a request with the
// same id from an earlier session.
func (s *bridgeState) asked(gen uint64, f protocol.Frame) {
	if len(s.asks) >= bridgeMaxAsks {
		s.forgetAsks()
	}
	id, frame := string(f.IDBytes()), f.Raw
	if _, taken := s.asks[id]; taken {
		s.askers++
		id = `"goblin-bridge-` + strconv.FormatUint(s.askers, 10) + `"`
		frame = rawjson.AppendEdited(nil, f.Raw, rawjson.Edit{Span: f.ID, With: []byte(id)})
	}
	s.asks[id] = &bridgeAsk{gen: gen, id: f.IDBytes()}
	s.tell(frame)
}

// forgetAsks removes withdrawn requests to make room.
func (s *bridgeState) forgetAsks() {
	for id, a := range s.asks {
		if a.gone {
			delete(s.asks, id)
		}
	}
}

// clientAnswer forwards the client's response to the link that sent the request. It drops a response to a request that
// is no longer open.
func (s *bridgeState) clientAnswer(f protocol.Frame) {
	id := string(f.IDBytes())
	a := s.asks[id]
	if a == nil {
		return
	}
	delete(s.asks, id)
	if _, open := s.links[a.gen]; a.gone || !open {
		return
	}
	if id != string(a.id) {
		var back protocol.Frame
		if back.Parse(rawjson.AppendEdited(nil, f.Raw, rawjson.Edit{Span: f.ID, With: a.id})) != nil {
			return // cannot happen: the frame was valid before the edit
		}
		f = back
	}
	s.send(a.gen, bridgeItem{kind: bridgeNote, frame: f})
}

// notified forwards a notification. If it cancels a request of the gateway, the id is replaced by the one that the
// client knows.
func (s *bridgeState) notified(gen uint64, f protocol.Frame) {
	var p protocol.Params
	if f.Method != protocol.NotificationCancelled || p.Scan(&f) != nil {
		s.tell(f.Raw)
		return
	}
	for id, a := range s.asks {
		if a.gen == gen && !a.gone && string(a.id) == string(p.RequestID.Of(f.Raw)) {
			a.gone = true
			s.tell(rawjson.AppendEdited(nil, f.Raw, rawjson.Edit{Span: p.RequestID, With: []byte(id)}))
			return
		}
	}
	s.tell(f.Raw)
}

// withdrawAsks cancels the open requests of a link at the client.
func (s *bridgeState) withdrawAsks(gen uint64) {
	for _, id := range sorted(s.asks) {
		if a := s.asks[id]; a.gen == gen && !a.gone {
			a.gone = true
			params := []byte(`{"requestId":` + id + `,"reason":"the connection to the gateway was lost"}`)
			s.tell(protocol.AppendNotification(nil, protocol.NotificationCancelled.String(), params))
		}
	}
}
