package bench

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"time"
)

const (
	checkChanges = 5                      // published list changes per gateway
	checkQuiet   = 400 * time.Millisecond // before a change, so that the gateway can notify clients immediately
)

// published holds the times in milliseconds from a server's list until clients see it, for one kind of gateway.
type published struct {
	first, changed []float64
}

// checks measures how long a gateway takes to publish the list of a server with n tools, first and after a change of one tool, and
// the ratios to a gateway that does not check definitions. All start without a state file and take turns with the same server.
func (g *growthRun) checks() error {
	for _, n := range g.sizes("checks") {
		g.say("tools, with and without checks", n)
		checked, unchecked := &published{}, &published{}
		err := g.own(func() error {
			server, err := g.newBehind(g.o.Behind, fmt.Sprintf("g%d", g.next), "--tools", fmt.Sprint(n))
			if err != nil {
				return err
			}
			g.next++
			defer server.close()
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
		first, changed := median(checked.first), median(checked.changed)
		g.growth.Rows = append(g.growth.Rows, GrowthRow{Of: "checks", N: n, First: first, Checked: first / median(unchecked.first),
			Changed: changed, CheckedAgain: changed / median(unchecked.changed)})
	}
	return nil
}

// publish starts a gateway with the command in front of the server. It stops the gateway after clients have seen the first list and some changes.
func (g *growthRun) publish(server *behind, command []string, to *published) error {
	return g.own(func() error {
		dir, err := os.MkdirTemp(g.dir, "")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		settings := maps.Clone(g.settings)
		settings["pageSize"] = 1 // keeps the time to write a page out of the measurement
		gate, err := runGateway(g.ctx, g.o.Program, command, dir, map[string]any{server.name: server.entry}, settings)
		if err != nil {
			return err
		}
		g.running = append(g.running, gate.process)
		seen, err := gate.firstTool(server.name)
		if err != nil {
			return err
		}
		if err := server.since(seen, &to.first); err != nil {
			return err
		}
		if err := gate.waitReady(g.ctx); err != nil {
			return err
		}
		a := &audience{all: make(chan struct{}, 1)}
		defer a.close()
		if err := a.open(g.ctx, gate.process, g.o.Clients, 1); err != nil {
			return err
		}
		for change := range checkChanges {
			g.pause(checkQuiet)
			told, err := a.publish(g.ctx, int64(change+1), exchangeTimeout, func() error {
				_, err := server.tell("change")
				return err
			})
			if err == nil && told.lost > 0 {
				err = fmt.Errorf("clients received no list change notification within %s", exchangeTimeout)
			}
			if err != nil {
				return err
			}
			if err := server.since(epoch.Add(time.Duration(a.subscribers[0].at.Load())), &to.changed); err != nil {
				return err
			}
		}
		return nil
	})
}

// since appends the time from the server's last response to a request for its list until seen.
func (b *behind) since(seen time.Time, to *[]float64) error {
	listed, err := b.tell("listed")
	if err == nil {
		*to = append(*to, millis(seen.Sub(time.Unix(0, int64(listed)))))
	}
	return err
}

// firstTool requests the first page of tools until it contains one of the server, and returns when it did.
func (g *gateway) firstTool(server string) (seen time.Time, err error) {
	w, err := dial("tcp", g.url.Host)
	if err != nil {
		return seen, err
	}
	defer w.close()
	if err := w.handshake(g.url.Host, g.url.Path); err != nil {
		return seen, err
	}
	r := newRequest(g.url.Host, g.url.Path, w.session, protocolVersion, "tools/list", "{}")
	for began := time.Now(); time.Since(began) < exchangeTimeout; time.Sleep(100 * time.Microsecond) {
		body, err := w.exchange(r.next())
		if err := w.expect("tools/list", 200, body, err); err != nil {
			return seen, err
		}
		if bytes.Contains(body, []byte(`"`+server+`_`)) {
			return time.Now(), nil
		}
	}
	return seen, fmt.Errorf("no tool of %s was listed within %s", server, exchangeTimeout)
}
