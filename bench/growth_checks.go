package bench

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
	"goblin-actor/bench/wire"
)

const (
	checkChanges = 5                      // number of published list changes per gateway
	checkQuiet   = 400 * time.Millisecond // pause before a change, so that the gateway can notify clients immediately
)

// published holds the times, in milliseconds, from a server's list response until a client sees the first list, or is
// notified that the list has changed, for one kind of gateway.
type published struct {
	first, changed []float64
}

// checks measures how long a gateway takes to publish the list of a server with n tools, both at the start and after
// one tool has changed. It compares these times with those of a gateway that does not check definitions. All gateways
// start without a state file, one after the other, with the same server.
func (g *growthRun) checks() error {
	for _, n := range g.sizes("checks") {
		g.announce("tools, with and without checks", n)
		checked, unchecked := &published{}, &published{}
		err := g.Scope(func() error {
			server, err := g.NewRawServer(g.o.Behind, fmt.Sprintf("g%d", g.next), "--tools", fmt.Sprint(n))
			if err != nil {
				return err
			}
			g.next++
			defer server.Close()
			for range g.o.gateways {
				for _, turn := range []struct {
					command []string
					to      *published
				}{{[]string{"serve"}, checked}, {[]string{"bench", "unchecked"}, unchecked}} {
					if err := g.publish(server, turn.command, turn.to); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		first, changed := stats.Median(checked.first), stats.Median(checked.changed)
		g.growth.Rows = append(g.growth.Rows, report.GrowthRow{Of: "checks", N: n, First: first, Checked: first / stats.Median(unchecked.first),
			Changed: changed, CheckedAgain: changed / stats.Median(unchecked.changed)})
	}
	return nil
}

// publish starts a gateway for the server with the command. It stops the gateway after clients have seen the first list
// and checkChanges changes.
func (g *growthRun) publish(server *process.RawServer, command []string, to *published) error {
	return g.Scope(func() error {
		dir, err := os.MkdirTemp(g.Dir, "")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		settings := maps.Clone(g.Settings)
		settings["pageSize"] = 1 // keeps the time to write a page out of the measurement
		gate, err := g.RunGateway(command, dir, map[string]any{server.Name: server.Entry}, settings)
		if err != nil {
			return err
		}
		seen, err := firstTool(gate, server.Name)
		if err != nil {
			return err
		}
		if err := sinceListed(server, seen, &to.first); err != nil {
			return err
		}
		if err := gate.WaitReady(g.ctx); err != nil {
			return err
		}
		a := load.NewAudience("")
		defer a.Close()
		if err := a.Open(g.ctx, gate.Process, g.o.Clients, 1); err != nil {
			return err
		}
		for change := range checkChanges {
			g.Sleep(checkQuiet)
			told, err := a.Publish(g.ctx, int64(change+1), wire.ExchangeTimeout, func() error {
				_, err := server.Command("change")
				return err
			})
			if err == nil && told.Lost > 0 {
				err = fmt.Errorf("clients received no list change notification within %s", wire.ExchangeTimeout)
			}
			if err != nil {
				return err
			}
			if err := sinceListed(server, a.FirstReceived(), &to.changed); err != nil {
				return err
			}
		}
		return nil
	})
}

// sinceListed appends the time from the server's last list response until seen.
func sinceListed(b *process.RawServer, seen time.Time, to *[]float64) error {
	listed, err := b.Command("listed")
	if err == nil {
		*to = append(*to, stats.Millis(seen.Sub(time.Unix(0, int64(listed)))))
	}
	return err
}

// firstTool requests the first page of tools until it contains a tool of the server, and returns the time.
func firstTool(g *process.Gateway, server string) (seen time.Time, err error) {
	w, err := wire.Dial("tcp", g.URL.Host)
	if err != nil {
		return seen, err
	}
	defer w.Close()
	if err := w.Handshake(g.URL.Host, g.URL.Path); err != nil {
		return seen, err
	}
	r := wire.NewRequest(g.URL.Host, g.URL.Path, w.Session, wire.LegacyVersion, "tools/list", "{}")
	for began := time.Now(); time.Since(began) < wire.ExchangeTimeout; time.Sleep(100 * time.Microsecond) {
		body, err := w.Exchange(r.Next())
		if err := w.Expect("tools/list", 200, body, err); err != nil {
			return seen, err
		}
		if bytes.Contains(body, []byte(`"`+server+`_`)) {
			return time.Now(), nil
		}
	}
	return seen, fmt.Errorf("no tool of %s was listed within %s", server, wire.ExchangeTimeout)
}
