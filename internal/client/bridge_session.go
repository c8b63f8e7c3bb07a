package client

import (
	"encoding/json"
	"errors"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

var (
	// errBridgeVersion ends the bridge, because a client cannot change the version of a session.
	errBridgeVersion = errors.New("the gateway now uses a different protocol version; restart the client")
	// Reasons for abandoning a session.
	errBridgeSilent   = errors.New("the gateway does not respond")
	errBridgeDraining = errors.New("the gateway is shutting down")
)

// connect opens a link and sends the client's initialize.
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

// lostOn abandons the session if link gen is its current link.
func (s *bridgeState) lostOn(gen uint64, why error) {
	if gen == s.gen && (s.phase == bridgeReady || s.phase == bridgeOpening) {
		s.lost(why)
	}
}

// lost abandons the session. Its link stays open until the outstanding responses have arrived.
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

// dropOwn removes the bridge's own requests of a lost session. All but a ping are repeated for the next session.
func (s *bridgeState) dropOwn() {
	s.drop(func(i bridgeItem) bool { return i.kind == bridgeAgain })
	for _, ticket := range sorted(s.away) {
		switch i := s.away[ticket]; i.kind {
		case bridgeHello, bridgeRejoin, bridgeAgain, bridgePing:
			s.settle(ticket) // a late response is ignored
		}
	}
}

// probe pings the gateway to check the session.
func (s *bridgeState) probe() {
	if s.phase != bridgeReady || !s.probing.IsZero() {
		return
	}
	s.probing = s.now.Add(bridgeProbe)
	s.send(s.gen, bridgeItem{kind: bridgePing, frame: s.own(protocol.MethodPing, nil)})
}

// greetedBy forwards the response to the client's initialize. After an error, the client may send initialize again.
func (s *bridgeState) greetedBy(f protocol.Frame) {
	s.tell(f.Raw)
	if s.greeted = f.Kind == protocol.KindResult; !s.greeted {
		s.phase = bridgeNew
		return
	}
	s.version = versionOf(f)
	s.stand()
}

// stand marks the session as ready.
func (s *bridgeState) stand() {
	s.phase, s.since, s.heard = bridgeReady, s.now, s.now
	s.do(bridgeSpeak{s.gen, s.version})
}

func versionOf(f protocol.Frame) string {
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(f.ResultBytes(), &result) // on error the version is "", which matches no version
	return result.ProtocolVersion
}

// rejoined handles the response to the initialize of a new session. If the client has sent notifications/initialized,
// it restores the state of the session (initialized, log level, subscriptions) and notifies the client that every list
// may have changed. If the version differs from that of the first session, it ends the bridge. If initialize failed, it
// abandons the session. MCP 2025-11-25, basic/lifecycle.
func (s *bridgeState) rejoined(f protocol.Frame) {
	if f.Kind != protocol.KindResult {
		s.lost(errors.New("the gateway rejected initialize: " + string(f.ErrorBytes())))
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
	s.drop(func(i bridgeItem) bool {
		return i.kind == bridgeNote && i.frame.Method == protocol.NotificationInitialized
	})
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

// remember stores the effect of a successful request on the session.
func (s *bridgeState) remember(f protocol.Frame, granted bool) {
	if !granted {
		return
	}
	switch f.Method {
	case protocol.MethodLoggingSetLevel:
		s.level = f
	case protocol.MethodResourcesSubscribe, protocol.MethodResourcesUnsubscribe:
		uri := uriOf(f)
		if f.Method == protocol.MethodResourcesSubscribe {
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

// restored handles the result of restoring a subscription. On success it notifies the client, which may have missed
// an update. A failed subscription is retried for a while, because the gateway's servers may still be starting.
func (s *bridgeState) restored(i *bridgeItem, granted bool) {
	if i.frame.Method != protocol.MethodResourcesSubscribe {
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
