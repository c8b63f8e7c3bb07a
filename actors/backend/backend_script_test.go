package backend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
)

// script runs random messages through step and keeps the books of what must hold.
type script struct {
	t       *testing.T
	s       *state
	now     time.Time
	gen     uint64
	rng     *rand.Rand
	phase   message.Phase
	open    map[uint64]string // calls without an outcome: what was done to them
	asks    []uint64          // numbers of the server's questions that were passed on
	tickets []uint64          // of requests written in this incarnation
	log     []any             // what was told, for failures
}

func (r *script) step(msg any) {
	r.log = append(r.log, msg)
	for _, e := range step(r.s, r.now, msg, nil) {
		r.effect(e)
	}
}

func (r *script) effect(e effect) {
	switch m := e.msg.(type) {
	case message.BackendChanged:
		if m.Phase != r.phase && !slices.Contains(transitions[r.phase], m.Phase) {
			r.t.Fatalf("illegal transition %s → %s after\n%+v", r.phase, m.Phase, r.log)
		}
		r.phase = m.Phase
	case message.Done:
		r.outcome(m.Seq, "Done")
	case message.Failed:
		r.outcome(m.Seq, "Failed")
	case message.Returned:
		r.outcome(m.Call.Seq, "Returned")
	}
	if m, ok := e.msg.(message.Ask); ok {
		if r.open[m.Seq] != "sent" {
			r.t.Fatalf("call %d is asked although it is %q, after\n%+v", m.Seq, r.open[m.Seq], r.log)
		}
		r.asks = append(r.asks, m.Key)
	}
	switch a := e.act.(type) {
	case open:
		r.gen, r.tickets = a.gen, nil
	case write:
		if a.out.Request {
			r.tickets = append(r.tickets, a.out.Ticket)
		}
	}
}

func (r *script) outcome(seq uint64, what string) {
	if was := r.open[seq]; was != "sent" {
		r.t.Fatalf("call %d: %s although it is %q, after\n%+v", seq, what, was, r.log)
	}
	r.open[seq] = what
}

// event is a random thing the connection may tell.
func (r *script) event() transport.Event {
	ticket := uint64(r.rng.IntN(20))
	if len(r.tickets) > 0 && r.rng.IntN(4) > 0 {
		ticket = r.tickets[r.rng.IntN(len(r.tickets))]
	}
	frame := func(format string, args ...any) transport.Event {
		var f protocol.Frame
		if err := f.Parse(fmt.Appendf(nil, format, args...)); err != nil {
			r.t.Fatal(err)
		}
		return transport.Received{Frame: f, Ticket: ticket * uint64(r.rng.IntN(2)), Last: true}
	}
	switch r.rng.IntN(16) {
	case 0, 1, 2, 3, 4:
		return frame(`{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"tools":[{"name":"a"}]}}`, ticket)
	case 5:
		return frame(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"no"}}`, ticket)
	case 6:
		return frame(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case 7:
		return transport.Written{Ticket: ticket}
	case 8:
		return transport.NotSent{Ticket: ticket, Err: errors.New("refused")}
	case 9:
		return transport.Ended{Ticket: ticket}
	case 10:
		return transport.SessionLost{Ticket: ticket}
	case 13:
		return transport.Listening{}
	case 14:
		return transport.ListenFailed{Err: errors.New("405"), Final: true}
	case 11, 12:
		return frame(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{}}`, ticket)
	}
	return transport.Closed{Err: errors.New("gone")}
}

// After any script, and a stop, every call that was sent has exactly one outcome; every transition was legal.
func TestRandomScripts(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := &script{t: t, s: newState(Options{Server: cfg(), Catalog: true}, kernel.Reference{}, new(uint64)), now: time.Unix(0, 0), rng: rng,
			phase: message.Idle, open: map[uint64]string{}}
		if seed%2 == 0 {
			r.s.kind = "http"
		}
		r.step(kernel.Started{})
		r.step(message.Connect{})
		r.step(linkEvent{r.gen, transport.Opened{}})
		seq := uint64(0)
		for range 60 {
			r.now = r.now.Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
			switch rng.IntN(10) {
			case 0, 1:
				seq++
				r.open[seq] = "sent"
				r.step(message.Send{Call: message.CallRef{Seq: seq}, Request: request(t, callFrame)})
			case 2:
				if seq > 0 {
					at := 1 + rng.Uint64N(seq)
					if r.open[at] == "sent" {
						r.open[at] = "withdrawn"
					}
					r.step(message.Withdraw{Call: message.CallRef{Seq: at}})
				}
			case 3:
				r.step(wake{r.gen})
				r.step(settled{r.gen})
			case 5:
				if len(r.asks) > 0 {
					r.step(message.Answer{Key: r.asks[rng.IntN(len(r.asks))], Result: []byte("{}")})
				}
			case 4:
				if r.phase == message.Connecting {
					r.step(linkEvent{r.gen, transport.Opened{}})
				}
			default:
				r.step(linkEvent{r.gen, r.event()})
			}
		}
		if rng.IntN(2) == 0 {
			r.step(message.Drain{})
		}
		r.step(kernel.Stopping{})
		for seq, what := range r.open {
			if what == "sent" {
				t.Fatalf("seed %d: call %d has no outcome after\n%+v", seed, seq, r.log)
			}
		}
		if len(r.s.pending)+len(r.s.byCall)+len(r.s.held)+len(r.s.asks) > 0 {
			t.Fatalf("seed %d: %d pending, %d by call, %d held after the stop", seed, len(r.s.pending), len(r.s.byCall), len(r.s.held))
		}
	}
}
