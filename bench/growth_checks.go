package bench

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"time"
)

const (
	checkChanges = 5                      // changes of the list that each publishes
	checkQuiet   = 400 * time.Millisecond // before a change, so that the gateway need not wait before it tells clients of it
)

// published holds how long one kind of gateway takes from a server's list until clients see it, in milliseconds.
type published struct {
	first, changed []float64
}

// checks measures how long a gateway takes to publish the list of a server with n tools, the first time and after one tool has changed, and
// the ratios to a gateway that does not check definitions. Each starts without a state file. They take turns in front of the same server.
func (g *growthRun) checks() error {
	for _, n := range g.sizes("checks") {
		g.say("tools, checked and not", n)
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

// publish starts a gateway by that command in front of the server, and ends it when its clients have seen the first list and some changes.
func (g *growthRun) publish(server *behind, command []string, to *published) error {
	return g.own(func() error {
		dir, err := os.MkdirTemp(g.dir, "")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		settings := maps.Clone(g.settings)
		settings["pageSize"] = 1 // writing a page is not what is measured
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
				err = fmt.Errorf("clients were not told of a change of the list within %s", exchangeTimeout)
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

// since adds how long before seen the server has answered the last request for its list.
func (b *behind) since(seen time.Time, to *[]float64) error {
	listed, err := b.tell("listed")
	if err == nil {
		*to = append(*to, millis(seen.Sub(time.Unix(0, int64(listed)))))
	}
	return err
}

// firstTool asks for the first page of tools until one of the server is on it, and returns when it was.
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
