package stateless

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// statelessScript feeds random messages to step and records what is needed to check its invariants.
type statelessScript struct {
	t        *testing.T
	s        *state
	now      time.Time
	rng      *rand.Rand
	sealer   *seal.Sealer
	answered map[*downstream.Exchange]int
	left     map[*downstream.Exchange]bool
	waiting  []*downstream.Exchange
	running  []uint64 // calls at the server
	asks     map[uint64]int
	nextAsk  uint64
	states   []string
	timers   []any
	id       int
}

func newStatelessScript(t *testing.T, seed uint64) *statelessScript {
	t.Helper()
	sealer := seal.New([32]byte{1})
	limits := config.Default().Limits
	limits.MaxInFlightPerClient, limits.ParkedPerClient = 6, 4
	d := &statelessScript{t: t, now: time.Unix(1000, 0), rng: rand.New(rand.NewPCG(seed, 3)), sealer: sealer,
		answered: map[*downstream.Exchange]int{}, left: map[*downstream.Exchange]bool{}, asks: map[uint64]int{}}
	d.s = newState(Options{Count: 1, Limits: limits, Sealer: sealer}, kernel.Reference{})
	server := &catalog.Server{Name: "one", Rules: config.DefaultServer()}
	source := catalog.Source{Server: server}
	source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"ask","inputSchema":{"type":"object"}}`)}
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "prefix", PageSize: 10}
	snapshot := catalog.Build(nil, []catalog.Source{source}, naming)
	d.step(message.Published{Snapshot: snapshot})
	return d
}

// first returns the number of the call that began first.
func (d *statelessScript) first() uint64 {
	for seq := range d.s.calls.All() {
		if message.SeqNumber(seq) == 1 {
			return seq
		}
	}
	return 0
}

func (d *statelessScript) step(msg any) {
	for _, e := range step(d.s, d.now, msg, nil) {
		switch a := e.Act.(type) {
		case reply.Answer:
			d.final(a.X)
			f := actortest.Frame(d.t, string(a.Frame))
			var info protocol.ResultInfo
			if string(f.IDBytes()) != string(a.X.Frame.IDBytes()) {
				d.t.Fatalf("answer %s to request %s", a.Frame, a.X.Frame.Raw)
			}
			if f.Kind == protocol.KindResult && info.Scan(&f) == nil && info.RequestState.Present() {
				state, _ := rawjson.Unquote(info.RequestState.Of(f.Raw))
				d.states = append(d.states, state)
			}
		case reply.Refuse:
			d.final(a.X)
		case reply.Accept:
			d.final(a.X)
		case kernel.Wake:
			d.timers = append(d.timers, a.Msg)
		}
		switch m := e.Msg.(type) {
		case message.Dispatch:
			d.running = append(d.running, m.Call.Seq)
		case message.ServerRequestResult:
			if d.asks[m.Key]++; d.asks[m.Key] > 1 {
				d.t.Fatalf("question %d was answered twice", m.Key)
			}
		}
	}
}

func (d *statelessScript) final(x *downstream.Exchange) {
	if d.answered[x]++; d.answered[x] > 1 {
		d.t.Fatalf("request %s was answered twice", x.Frame.Raw)
	}
}

// request returns a modern tools/call; with a state it is a retry.
func (d *statelessScript) request(state string) message.StatelessRequest {
	d.id++
	more := ""
	if state != "" {
		more = fmt.Sprintf(`,"requestState":%q,"inputResponses":{"q%d":{"action":"accept","content":{}}}`, state, 1+d.rng.IntN(3))
	}
	x := &downstream.Exchange{Origin: downstream.Origin{Remote: fmt.Sprintf("10.0.0.%d:%d", d.rng.IntN(2), d.id)}}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"one_ask","arguments":{"a":1}%s}}`, d.id, more)
	x.Frame, x.Params = actortest.Request(d.t, raw)
	d.waiting = append(d.waiting, x)
	visit := message.StatelessRequest{Exchange: x}
	if state != "" {
		opened, err := d.sealer.Open(state, d.now)
		if err != nil {
			d.final(x) // refused before it reaches an actor
			return message.StatelessRequest{}
		}
		visit.State = &opened
	}
	return visit
}

func (d *statelessScript) frame(format string, args ...any) protocol.Frame {
	d.t.Helper()
	return actortest.Frame(d.t, fmt.Sprintf(format, args...))
}

func (d *statelessScript) anyCall() uint64 {
	if len(d.running) == 0 {
		return 0
	}
	return d.running[d.rng.IntN(len(d.running))]
}

func (d *statelessScript) random() {
	seq := d.anyCall()
	switch d.rng.IntN(12) {
	case 0, 1:
		d.step(d.request(""))
	case 2, 3:
		if len(d.states) > 0 {
			if v := d.request(d.states[d.rng.IntN(len(d.states))]); v.Exchange != nil {
				d.step(v)
			}
		}
	case 4, 5:
		d.nextAsk++
		method := `"elicitation/create","params":{"message":"?","requestedSchema":{}}`
		if d.rng.IntN(6) == 0 {
			method = `"sampling/createMessage","params":{}` // not declared
		}
		d.step(message.ServerRequest{Seq: seq, Key: d.nextAsk, Frame: d.frame(`{"jsonrpc":"2.0","id":"b","method":%s}`, method)})
	case 6:
		d.step(message.RequestWritten{Seq: seq})
	case 7:
		d.step(message.Done{Seq: seq, Frame: d.frame(`{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`)})
	case 8:
		d.step(message.Failed{Seq: seq, Fault: &protocol.Fault{Name: protocol.BackendDisconnected, Message: "x"}})
	case 9:
		if len(d.waiting) > 0 {
			x := d.waiting[d.rng.IntN(len(d.waiting))]
			d.left[x] = true
			d.step(reply.Departed{Seq: seq, X: x})
		}
	case 10:
		d.now = d.now.Add(time.Duration(d.rng.IntN(8)) * time.Minute)
	case 11:
		for _, msg := range d.timers {
			d.step(msg)
		}
		d.timers = d.timers[:0]
	}
}

// In any order of messages: a request is answered at most once, under its own id, and a server request at most once. At the end every
// request whose client has not left is answered, and no call and no client is left.
func TestStatelessScripts(t *testing.T) {
	for seed := range uint64(500) {
		d := newStatelessScript(t, seed)
		for range 120 {
			d.random()
		}
		d.step(kernel.Stopping{})
		for _, x := range d.waiting {
			if d.answered[x] == 0 && !d.left[x] {
				t.Fatalf("seed %d: request %s was never answered", seed, x.Frame.Raw)
			}
		}
		if d.s.calls.Len()+d.s.calls.Indexed()+len(d.s.clients) > 0 {
			t.Fatalf("seed %d: %d calls, %d ids, %d clients after the stop", seed, d.s.calls.Len(), d.s.calls.Indexed(), len(d.s.clients))
		}
	}
}
