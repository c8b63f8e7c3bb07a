package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// growthRun measures one quantity after the other.
type growthRun struct {
	*setup
	o      GrowthOptions
	growth *Growth
	next   int // number of the next server, used in the name of its socket
}

const (
	growthClients = 8    // clients that call at each size, except for calls in flight
	growthTools   = 1000 // maximum tools per server when the number of items grows
)

// sizes returns the sizes to measure.
func (g *growthRun) sizes(what string) []int {
	return slices.DeleteFunc(slices.Clone(growthSizes[what]), func(n int) bool { return n > g.o.Most })
}

func (g *growthRun) grow(what string) error {
	switch what {
	case "sessions":
		return g.sessions()
	case "flight":
		return g.flight()
	case "checks":
		return g.checks()
	}
	for _, n := range g.sizes(what) {
		servers, tools := n, 0
		if what == "items" {
			servers, tools = (n+growthTools-1)/growthTools, min(n, growthTools)
		}
		if err := g.catalog(what, n, servers, tools); err != nil {
			return err
		}
	}
	return nil
}

// add completes a row. If the previous row is of the same kind, it computes the memory per added unit.
func (g *growthRun) add(row GrowthRow, m IdlePhase) {
	row.Use, row.RSS = m.Heap+m.Stack, m.RSS
	if n := len(g.growth.Rows); n > 0 && row.KiB == 0 {
		if before := g.growth.Rows[n-1]; before.Of == row.Of {
			row.KiB = max(row.Use-before.Use, 0) * 1024 / float64(row.N-before.N)
		}
	}
	g.growth.Rows = append(g.growth.Rows, row)
}

func (g *growthRun) say(what string, n int) {
	if what == "flight" {
		what = "calls in flight"
	}
	fmt.Fprintf(g.progress, "bench growth: %d %s\n", n, what)
}

// servers starts n servers: over HTTP one process that serves all of them, else processes that the gateway starts.
func (g *growthRun) servers(n, tools int) (first *behind, entries map[string]any, err error) {
	var more []string
	if tools > 0 {
		more = []string{"--tools", fmt.Sprint(tools)}
	}
	entries = map[string]any{}
	for i := range n {
		name := fmt.Sprintf("g%d", g.next)
		g.next++
		if first != nil && first.at != nil {
			entry := maps.Clone(first.entry)
			entry["url"] = fmt.Sprintf("%s/%d", first.at.url, i)
			entries[name] = entry
			continue
		}
		b, err := g.newBehind(g.o.Behind, name, more...)
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = b
		}
		entries[name] = b.entry
	}
	return first, entries, nil
}

// own runs measure and stops all processes that it started.
func (g *growthRun) own(measure func() error) error {
	processes := len(g.running)
	defer func() {
		for n := len(g.running) - 1; n >= processes; n-- {
			g.running[n].stop()
		}
		g.running = g.running[:processes]
	}()
	return measure()
}

// catalog measures a gateway with the given numbers of servers and of tools per server; 0 tools = the built-in ones.
func (g *growthRun) catalog(what string, n, servers, tools int) error {
	return g.own(func() error {
		g.say(what, n)
		first, entries, err := g.servers(servers, tools)
		if err != nil {
			return err
		}
		defer first.close()
		began := time.Now()
		gate, err := g.gateway(entries)
		if err != nil {
			return err
		}
		row := GrowthRow{Of: what, N: n, Ready: millis(time.Since(began))}
		tool := first.name + "_echo"
		if tools > 0 {
			tool = first.name + "_tool_000"
		}
		if err := g.calls(gate, tool, growthClients, &row); err != nil {
			return err
		}
		m, err := gate.memory(what)
		if err != nil {
			return err
		}
		if what == "items" {
			if row.List, err = g.list(gate, n); err != nil {
				return err
			}
		}
		g.add(row, m)
		return nil
	})
}

// calls has clients call one tool and records the cost of a call.
func (g *growthRun) calls(gate *gateway, tool string, clients int, row *GrowthRow) error {
	t := &target{name: "gateway", at: gate.process, method: "tools/call", params: []string{callParams(tool)}}
	if g.o.Clients == "modern" {
		t.modern = tool
	}
	t.refusals = &atomic.Int64{}
	if err := t.learn(); err != nil {
		return err
	}
	defer t.disconnect()
	if err := t.connect(clients); err != nil {
		return err
	}
	if _, err := t.run(g.ctx, min(g.o.Duration, 300*time.Millisecond)); err != nil { // warm-up
		return err
	}
	r, err := t.run(g.ctx, g.o.Duration)
	if err != nil {
		return err
	}
	slices.Sort(r.tenths)
	row.Refused = int(t.refusals.Load())
	row.P50 = quantile(r.tenths, .5)
	if r.calls > 0 {
		row.CPU = float64(r.cpu.Microseconds()) / float64(r.calls)
	}
	return nil
}

// overOne runs measure with a gateway over one server, and stops both.
func (g *growthRun) overOne(measure func(*behind, *gateway) error) error {
	return g.own(func() error {
		first, entries, err := g.servers(1, 0)
		if err != nil {
			return err
		}
		defer first.close()
		gate, err := g.gateway(entries)
		if err != nil {
			return err
		}
		return measure(first, gate)
	})
}

// sessions opens an increasing number of idle streams, and measures the calls of a few other clients.
func (g *growthRun) sessions() error {
	return g.overOne(func(first *behind, gate *gateway) error {
		a := &audience{all: make(chan struct{}, 1)}
		defer a.close()
		for _, n := range g.sizes("sessions") {
			g.say("sessions", n)
			if err := a.open(g.ctx, gate.process, g.o.Clients, n-len(a.subscribers)); err != nil {
				return err
			}
			row := GrowthRow{Of: "sessions", N: n}
			if err := g.calls(gate, first.name+"_echo", growthClients, &row); err != nil {
				return err
			}
			m, err := gate.memory("sessions")
			if err != nil {
				return err
			}
			g.add(row, m)
		}
		return nil
	})
}

// flight has an increasing number of clients call at once and wait for a hanging server. What the gateway holds per call is its memory
// above that with the same clients idle.
func (g *growthRun) flight() error {
	return g.overOne(func(first *behind, gate *gateway) error {
		for _, n := range g.sizes("flight") {
			g.say("flight", n)
			row := GrowthRow{Of: "flight", N: n}
			if err := g.calls(gate, first.name+"_echo", n, &row); err != nil {
				return err
			}
			m, err := g.held(gate, first, n, &row)
			if err != nil {
				return err
			}
			g.add(row, m)
		}
		return nil
	})
}

// hangs is how long the server hangs during the memory measurement. Afterwards each call must be answered.
const hangs = 3 * time.Second

// held measures the memory held by n calls that wait for their server.
func (g *growthRun) held(gate *gateway, server *behind, n int, row *GrowthRow) (IdlePhase, error) {
	w := &witnesses{at: gate.process, era: g.o.Clients, tool: server.name + "_echo"}
	var clients []*client
	defer func() {
		for _, c := range clients {
			c.leave(gate.process)
		}
	}()
	for range n {
		c, err := w.dial()
		if err != nil {
			return IdlePhase{}, err
		}
		clients = append(clients, c)
	}
	if err := w.learn(clients[0]); err != nil {
		return IdlePhase{}, err
	}
	idle, err := gate.memory("idle")
	if err != nil {
		return idle, err
	}
	if _, err := server.tell("hang %d", hangs.Milliseconds()); err != nil {
		return idle, err
	}
	for _, c := range clients {
		if _, err := c.conn.Write(c.request.next()); err != nil {
			return idle, err
		}
	}
	g.pause(hangs / 3)
	busy, err := gate.memory("in flight")
	if err != nil {
		return idle, err
	}
	row.KiB = max(busy.Heap+busy.Stack-idle.Heap-idle.Stack, 0) * 1024 / float64(n)
	for _, c := range clients {
		body, err := c.exchange(nil)
		w.note(sight{}, c, body, err)
	}
	row.Refused += w.errorsSince(0)
	if w.lost+w.wrong > 0 {
		return idle, fmt.Errorf("%d calls in flight: %d lost, %d wrong: %s", n, w.lost, w.wrong, w.first)
	}
	return busy, nil
}

// list fetches all pages repeatedly for the duration and returns the gateway's CPU time per item in microseconds. The first pass does not
// count, because the gateway renders items on first use.
func (g *growthRun) list(gate *gateway, items int) (float64, error) {
	w, err := dial("tcp", gate.url.Host)
	if err != nil {
		return 0, err
	}
	defer w.close()
	if err := w.handshake(gate.url.Host, gate.url.Path); err != nil {
		return 0, err
	}
	session := w.session
	if _, err := w.walk(gate, session, items); err != nil {
		return 0, err
	}
	listed, before := 0, gate.usage().cpu
	for end := time.Now().Add(g.o.Duration); listed == 0 || time.Now().Before(end) && g.ctx.Err() == nil; {
		n, err := w.walk(gate, session, items)
		if err != nil {
			return 0, err
		}
		listed += n
	}
	used := gate.usage().cpu - before
	_, _ = w.exchange(deleteRequest(gate.url.Host, gate.url.Path, session))
	return float64(used.Microseconds()) / float64(listed), nil
}

// walk lists all tools page by page and returns their number.
func (w *wire) walk(gate *gateway, session string, items int) (listed int, err error) {
	for params := "{}"; ; {
		body, err := w.exchange(newRequest(gate.url.Host, gate.url.Path, session, protocolVersion, "tools/list", params).text)
		if err := w.expect("tools/list", 200, body, err); err != nil {
			return 0, err
		}
		n, next, err := coldPage(body)
		if err != nil {
			return 0, err
		}
		listed += n
		if strings.Trim(next, `"`) == "" {
			break
		}
		params = `{"cursor":` + next + `}`
	}
	if listed < items {
		return 0, fmt.Errorf("only %d of %d items are listed", listed, items)
	}
	return listed, nil
}
