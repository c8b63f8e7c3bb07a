package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
	"goblin-actor/bench/wire"
)

// growthRun measures one quantity after the other.
type growthRun struct {
	*setup
	o      GrowthOptions
	growth *report.Growth
	next   int // number of the next server, used in the name of its socket
}

const (
	growthClients = 8    // clients that call at each size, except when the calls in flight grow
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

// add completes a row and adds it to the report. If the row has no memory per unit and the previous row is of the same
// kind, add computes the memory per additional unit.
func (g *growthRun) add(row report.GrowthRow, m process.Memory) {
	row.Use, row.RSS = m.Heap+m.Stack, m.RSS
	if n := len(g.growth.Rows); n > 0 && row.KiB == 0 {
		if before := g.growth.Rows[n-1]; before.Of == row.Of {
			row.KiB = max(row.Use-before.Use, 0) * 1024 / float64(row.N-before.N)
		}
	}
	g.growth.Rows = append(g.growth.Rows, row)
}

func (g *growthRun) announce(what string, n int) {
	if what == "flight" {
		what = "calls in flight"
	}
	fmt.Fprintf(g.progress, "bench growth: %d %s\n", n, what)
}

// servers prepares n servers. Over HTTP it starts a single process that serves all of them; over stdio the gateway
// starts a process for each.
func (g *growthRun) servers(n, tools int) (first *process.RawServer, entries map[string]any, err error) {
	var more []string
	if tools > 0 {
		more = []string{"--tools", fmt.Sprint(tools)}
	}
	entries = map[string]any{}
	for i := range n {
		name := fmt.Sprintf("g%d", g.next)
		g.next++
		if first != nil && first.At != nil {
			entry := maps.Clone(first.Entry)
			entry["url"] = fmt.Sprintf("%s/%d", first.At.URL, i)
			entries[name] = entry
			continue
		}
		b, err := g.NewRawServer(g.o.Behind, name, more...)
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = b
		}
		entries[name] = b.Entry
	}
	return first, entries, nil
}

// catalog measures a gateway with the given numbers of servers and of tools per server. If tools is 0, servers have the
// built-in tools.
func (g *growthRun) catalog(what string, n, servers, tools int) error {
	return g.Scope(func() error {
		g.announce(what, n)
		first, entries, err := g.servers(servers, tools)
		if err != nil {
			return err
		}
		defer first.Close()
		began := time.Now()
		gate, err := g.Gateway(entries)
		if err != nil {
			return err
		}
		row := report.GrowthRow{Of: what, N: n, Ready: stats.Millis(time.Since(began))}
		tool := first.Name + "_echo"
		if tools > 0 {
			tool = first.Name + "_tool_000"
		}
		if err := g.calls(gate, tool, growthClients, &row); err != nil {
			return err
		}
		m, err := gate.Memory()
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

// calls makes clients call one tool and records the cost of a call.
func (g *growthRun) calls(gate *process.Gateway, tool string, clients int, row *report.GrowthRow) error {
	t := &load.Target{Name: "gateway", At: gate.Process, Method: "tools/call", Params: []string{wire.CallParams(tool)}}
	if g.o.Clients == "modern" {
		t.ModernTool = tool
	}
	t.Refusals = &atomic.Int64{}
	if err := t.Learn(); err != nil {
		return err
	}
	defer t.Disconnect()
	if err := t.Connect(clients); err != nil {
		return err
	}
	if _, err := t.Run(g.ctx, min(g.o.Duration, 300*time.Millisecond)); err != nil { // warm-up
		return err
	}
	r, err := t.Run(g.ctx, g.o.Duration)
	if err != nil {
		return err
	}
	slices.Sort(r.Latencies)
	row.Refused = int(t.Refusals.Load())
	row.P50 = stats.QuantileMicros(r.Latencies, .5)
	if r.Calls > 0 {
		row.CPU = float64(r.CPU.Microseconds()) / float64(r.Calls)
	}
	return nil
}

// overOne calls measure with a server and a gateway for it, and then stops both.
func (g *growthRun) overOne(measure func(*process.RawServer, *process.Gateway) error) error {
	return g.Scope(func() error {
		first, entries, err := g.servers(1, 0)
		if err != nil {
			return err
		}
		defer first.Close()
		gate, err := g.Gateway(entries)
		if err != nil {
			return err
		}
		return measure(first, gate)
	})
}

// sessions opens an increasing number of idle streams and measures the calls of a few other clients.
func (g *growthRun) sessions() error {
	return g.overOne(func(first *process.RawServer, gate *process.Gateway) error {
		a := load.NewAudience("")
		defer a.Close()
		for _, n := range g.sizes("sessions") {
			g.announce("sessions", n)
			if err := a.Open(g.ctx, gate.Process, g.o.Clients, n-a.Len()); err != nil {
				return err
			}
			row := report.GrowthRow{Of: "sessions", N: n}
			if err := g.calls(gate, first.Name+"_echo", growthClients, &row); err != nil {
				return err
			}
			m, err := gate.Memory()
			if err != nil {
				return err
			}
			g.add(row, m)
		}
		return nil
	})
}

// flight makes an increasing number of clients call a hanging server at the same time. To get the memory per call, it
// subtracts the gateway's memory while the same clients are idle and divides by the number of calls.
func (g *growthRun) flight() error {
	return g.overOne(func(first *process.RawServer, gate *process.Gateway) error {
		for _, n := range g.sizes("flight") {
			g.announce("flight", n)
			row := report.GrowthRow{Of: "flight", N: n}
			if err := g.calls(gate, first.Name+"_echo", n, &row); err != nil {
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

// hangs is how long the server hangs while memory is measured. Afterwards it answers each call.
const hangs = 3 * time.Second

// held measures the memory held by n calls that wait for their server.
func (g *growthRun) held(gate *process.Gateway, server *process.RawServer, n int, row *report.GrowthRow) (process.Memory, error) {
	w := &load.Probes{At: gate.Process, Era: g.o.Clients, Tool: server.Name + "_echo"}
	var clients []*load.Client
	defer func() {
		for _, c := range clients {
			c.Leave(gate.Process)
		}
	}()
	for range n {
		c, err := w.Dial()
		if err != nil {
			return process.Memory{}, err
		}
		clients = append(clients, c)
	}
	if err := w.Learn(clients[0]); err != nil {
		return process.Memory{}, err
	}
	idle, err := gate.Memory()
	if err != nil {
		return idle, err
	}
	if _, err := server.Command("hang %d", hangs.Milliseconds()); err != nil {
		return idle, err
	}
	for _, c := range clients {
		if _, err := c.Net.Write(c.Request.Next()); err != nil {
			return idle, err
		}
	}
	g.Sleep(hangs / 3)
	busy, err := gate.Memory()
	if err != nil {
		return idle, err
	}
	row.KiB = max(busy.Heap+busy.Stack-idle.Heap-idle.Stack, 0) * 1024 / float64(n)
	for _, c := range clients {
		body, err := c.Exchange(nil)
		w.Record(c, body, err)
	}
	row.Refused += w.ErrorsSince(0)
	if w.Lost+w.Wrong > 0 {
		return idle, fmt.Errorf("%d calls in flight: %d lost, %d wrong: %s", n, w.Lost, w.Wrong, w.FirstWrong)
	}
	return busy, nil
}

// list fetches all pages repeatedly for the duration and returns the gateway's CPU time per item in microseconds. The
// first pass does not count, because the gateway renders items on first use.
func (g *growthRun) list(gate *process.Gateway, items int) (float64, error) {
	w, err := wire.Dial("tcp", gate.URL.Host)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	if err := w.Handshake(gate.URL.Host, gate.URL.Path); err != nil {
		return 0, err
	}
	session := w.Session
	if _, err := walk(w, gate, session, items); err != nil {
		return 0, err
	}
	listed, before := 0, gate.Usage().CPU
	for end := time.Now().Add(g.o.Duration); listed == 0 || time.Now().Before(end) && g.ctx.Err() == nil; {
		n, err := walk(w, gate, session, items)
		if err != nil {
			return 0, err
		}
		listed += n
	}
	used := gate.Usage().CPU - before
	_, _ = w.Exchange(wire.DeleteRequest(gate.URL.Host, gate.URL.Path, session))
	return float64(used.Microseconds()) / float64(listed), nil
}

// walk lists all tools page by page and returns their number. It returns an error if there are fewer than items.
func walk(w *wire.Conn, gate *process.Gateway, session string, items int) (listed int, err error) {
	for params := "{}"; ; {
		body, err := w.Exchange(wire.NewRequest(gate.URL.Host, gate.URL.Path, session, wire.LegacyVersion, "tools/list", params).Text)
		if err := w.Expect("tools/list", 200, body, err); err != nil {
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
