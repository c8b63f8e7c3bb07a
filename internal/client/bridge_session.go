package client

import (
	"encoding/json"
	"errors"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

var (
	// errBridgeVersion ends the bridge: a client cannot be told that the version has changed.
	errBridgeVersion = errors.New("the gateway speaks another protocol version than before; start the client again")
	// Why a session was given up.
	errBridgeSilent   = errors.New("the gateway does not answer")
	errBridgeDraining = errors.New("the gateway is shutting down")
)

// connect opens a link and says initialize on it, in the client's own words.
func (s *bridgeState) connect() {
	s.gen++
	s.links[s.gen] = 0
	s.phase, s.retryAt, s.probing, s.gate = bridgeOpening, s.now.Add(bridgeOpen), time.Time{}, 0
	s.do(bridgeOpenUp{s.gen})
	kind := bridgeRejoin
	if !s.greeted {
		kind = bridgeHello
	}
	s.send(s.gen, bridgeItem{kind: kind, frame: s.hello})
}

// lostOn gives up the session of a link, if it is the one in use.
func (s *bridgeState) lostOn(gen uint64, why error) {
	if gen == s.gen && (s.phase == bridgeReady || s.phase == bridgeOpening) {
		s.lost(why)
	}
}

// lost gives up the session. The link lives on while answers may come on it.
func (s *bridgeState) lost(why error) {
	if s.phase == bridgeReady && s.now.Sub(s.since) >= bridgeLong {
		s.retryAt, s.pause = s.now, bridgeMin
	} else {
		s.retryAt = s.now.Add(s.pause)
		s.pause = min(2*s.pause, bridgeMax)
	}
	s.phase, s.gate, s.probing, s.why = bridgeDown, 0, time.Time{}, why.Error()
	for i := range s.later {
		s.later[i].until = time.Time{}
	}
	s.pushFront(s.later...)
	s.later = nil
	s.dropOwn()
}

// dropOwn forgets what was to be done for a session that is lost: it is done anew for the next.
func (s *bridgeState) dropOwn() {
	s.drop(func(i bridgeItem) bool { return i.kind == bridgeAgain })
	for _, ticket := range sorted(s.away) {
		switch i := s.away[ticket]; i.kind {
		case bridgeHello, bridgeRejoin, bridgeAgain, bridgePing:
			s.settle(ticket) // should an answer come, nobody waits for it
		}
	}
}

// probe asks whether the session is still there.
func (s *bridgeState) probe() {
	if s.phase != bridgeReady || !s.probing.IsZero() {
		return
	}
	s.probing = s.now.Add(bridgeProbe)
	s.send(s.gen, bridgeItem{kind: bridgePing, frame: s.own(protocol.MethodPing, nil)})
}

// greetedBy hands the client the answer to its initialize.
func (s *bridgeState) greetedBy(f protocol.Frame) {
	s.tell(f.Raw)
	if s.greeted = f.Kind == protocol.KindResult; !s.greeted {
		s.phase = bridgeNew
		return
	}
	s.version = versionOf(f)
	s.stand()
}

// stand: there is a session.
func (s *bridgeState) stand() {
	s.phase, s.since, s.heard = bridgeReady, s.now, s.now
	s.do(bridgeSpeak{s.gen, s.version})
}

func versionOf(f protocol.Frame) string {
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(f.ResultBytes(), &result) // "" is a version nobody speaks
	return result.ProtocolVersion
}

// rejoined brings a new session to where the client believes to be: initialized, log level, subscriptions. The client
// is told that every list may have changed. MCP 2025-11-25, basic/lifecycle.
func (s *bridgeState) rejoined(f protocol.Frame) {
	if f.Kind != protocol.KindResult {
		s.lost(errors.New("the gateway refused: " + string(f.ErrorBytes())))
		return
	}
	if versionOf(f) != s.version {
		s.do(bridgeEnd{errBridgeVersion})
		return
	}
	s.stand()
	s.rejoins++
	if s.announced.Raw == nil {
		return
	}
	s.drop(func(i bridgeItem) bool { return i.kind == bridgeNote && i.frame.M == protocol.NotificationInitialized })
	items := []bridgeItem{{kind: bridgeNote, frame: s.announced}}
	if s.level.Raw != nil {
		items = append(items, bridgeItem{kind: bridgeAgain, frame: s.own(protocol.MethodLoggingSetLevel, s.level.ParamsBytes())})
	}
	for _, uri := range sorted(s.subs) {
		sub := s.subs[uri]
		items = append(items, bridgeItem{kind: bridgeAgain, frame: s.own(protocol.MethodResourcesSubscribe, sub.ParamsBytes())})
	}
	s.pushFront(items...)
	for _, m := range []protocol.Method{protocol.NotificationToolsListChanged, protocol.NotificationPromptsListChanged, protocol.NotificationResourcesListChanged} {
		s.tell(protocol.AppendNotification(nil, m.String(), nil))
	}
}

// remember keeps what a granted request of the client changed in the session.
func (s *bridgeState) remember(f protocol.Frame, granted bool) {
	if !granted {
		return
	}
	switch f.M {
	case protocol.MethodLoggingSetLevel:
		s.level = f
	case protocol.MethodResourcesSubscribe, protocol.MethodResourcesUnsubscribe:
		uri := uriOf(f)
		if f.M == protocol.MethodResourcesSubscribe {
			s.subs[uri] = f
		} else {
			delete(s.subs, uri)
		}
	}
}

// uriOf returns the raw uri of a request.
func uriOf(f protocol.Frame) string {
	return string(rawjson.Member(f.Raw, f.Params, "uri").Of(f.Raw))
}

// restored: a subscription stands again, and an update may have been missed. One that is refused is tried again for a
// while: the gateway's servers may still be starting.
func (s *bridgeState) restored(i *bridgeItem, granted bool) {
	if i.frame.M != protocol.MethodResourcesSubscribe {
		return
	}
	uri := uriOf(i.frame)
	_, wanted := s.subs[uri]
	switch {
	case !wanted:
	case granted:
		s.tell(protocol.AppendNotification(nil, protocol.NotificationResourcesUpdated.String(), []byte(`{"uri":`+uri+`}`)))
	case s.young(s.gen):
		s.sendLater(bridgeItem{kind: bridgeAgain, frame: s.own(protocol.MethodResourcesSubscribe, i.frame.ParamsBytes())})
	}
}
