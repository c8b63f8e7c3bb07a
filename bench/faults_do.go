package bench

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/stats"
	"goblin-actor/bench/wire"
)

// readyFor is slightly longer than a server must have been ready for the gateway to reconnect to it immediately.
const readyFor = 5500 * time.Millisecond

// do injects the fault and waits until the calls succeed again, or for flood until a client receives the last list. It
// waits at most faultWait.
func (f *faultRun) do(hurt *load.Probes) error {
	switch f.row.Fault {
	case "kill":
		return f.kill(hurt)
	case "hang":
		return f.hang(hurt)
	case "slow":
		return f.slow(hurt)
	case "leave":
		return f.leave(hurt)
	}
	return f.flood()
}

// kill kills the server's process. A server on HTTP is restarted immediately at its address; one on stdio is restarted
// by the gateway.
//
// A gateway reconnects immediately to a server that had been ready for 5 s, otherwise after half a second. For a URL,
// it makes a few attempts within the first half second. kill therefore waits until the server has been ready for
// readyFor.
func (f *faultRun) kill(hurt *load.Probes) error {
	f.Sleep(f.o.ready - time.Since(f.ready))
	pid, err := f.server.Command("pid")
	if err != nil {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil {
		return err
	}
	f.began = load.Now()
	f.server.Close()
	if f.server.At != nil {
		if err := f.server.Restart(f.Group); err != nil {
			return err
		}
	}
	f.recovers(hurt, f.began)
	return nil
}

// hang makes the server send no responses for a while.
func (f *faultRun) hang(hurt *load.Probes) error {
	if _, err := f.server.Command("hang %d", f.o.Lasts.Milliseconds()); err != nil {
		return err
	}
	f.began = load.Now()
	f.recovers(hurt, f.began+f.o.Lasts)
	return nil
}

// smallWindow is the number of bytes that a slow reader's socket accepts before the gateway has to buffer the rest.
const smallWindow = 4096

// slow makes clients request large results without reading them. The clients stay connected until recovery has been
// measured.
func (f *faultRun) slow(hurt *load.Probes) error {
	large := &load.Probes{At: f.g.Process, Era: f.o.Clients, Tool: f.name + "_big"}
	var readers []*load.Client
	defer func() {
		for _, c := range readers {
			c.Close()
		}
	}()
	for range f.o.Readers {
		c, err := large.Dial()
		if err != nil {
			return err
		}
		readers = append(readers, c)
		if tcp, ok := c.Net.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(smallWindow)
		}
		if _, err := c.Net.Write(c.Request.Next()); err != nil {
			return err
		}
	}
	end := f.began + f.o.Lasts
	f.until(func() bool {
		f.sample()
		return load.Now() > end
	})
	f.recovers(hurt, end)
	return nil
}

// leave makes clients cut their connections in the middle of calls, one after the other. The server hangs at first, for
// at most half of faultTimeout.
func (f *faultRun) leave(hurt *load.Probes) error {
	if _, err := f.server.Command("hang %d", min(f.o.Lasts, faultTimeout/2).Milliseconds()); err != nil {
		return err
	}
	gone := &load.Probes{At: f.g.Process, Era: f.o.Clients, Tool: f.name + "_echo"}
	end := f.began + f.o.Lasts
	n := 0
	for ; load.Now() < end && n < 5000 && f.ctx.Err() == nil; n++ {
		c, err := gone.Dial()
		if err != nil {
			return err
		}
		if tcp, ok := c.Net.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // send a reset, as for a killed client
		}
		_, err = c.Net.Write(c.Request.Next())
		c.Close()
		if err != nil {
			return err
		}
		if n%50 == 0 {
			f.sample()
		}
	}
	f.recovers(hurt, load.Now())
	f.row.Note = fmt.Sprintf("%d clients disconnected in the middle of a call; afterwards the gateway has %.0f sessions, because sessions of disconnected clients remain until the idle timeout", n, f.g.Sessions())
	return nil
}

// flood makes the server change its list and announce the changes as fast as it can. The gateway has recovered once a
// client receives the last list.
func (f *faultRun) flood() error {
	before, err := f.server.Command("lists")
	if err != nil {
		return err
	}
	a := load.NewAudience("")
	defer a.Close()
	if err := a.Open(f.ctx, f.g.Process, f.o.Clients, 1); err != nil {
		return err
	}
	f.began = load.Now()
	flooded := make(chan struct{})
	var changes int
	go func() {
		defer close(flooded)
		changes, err = f.server.Command("flood %d", f.o.Lasts.Milliseconds())
	}()
	f.until(func() bool {
		f.sample()
		select {
		case <-flooded:
			return true
		default:
			return false
		}
	})
	<-flooded
	if err != nil {
		return err
	}
	end := load.Now()
	list, err := f.lister()
	if err != nil {
		return err
	}
	defer list.Leave(f.g.Process)
	last := fmt.Appendf(nil, `"%s_change_%d"`, f.name, changes)
	f.until(func() bool {
		var body []byte
		if body, err = list.Exchange(list.Request.Next()); err != nil || bytes.Contains(body, last) {
			return true
		}
		f.sample()
		return false
	})
	if err != nil {
		return err
	}
	f.row.Back = stats.Millis(load.Now() - end)
	f.Sleep(load.SettleTime)
	after, err := f.server.Command("lists")
	f.row.Note = fmt.Sprintf("%d changes, %d lists fetched, %d notifications to a client", changes, after-before, a.Events.Load())
	return err
}

// lister returns a client that can request the list of tools.
func (f *faultRun) lister() (*load.Client, error) {
	w := &load.Probes{At: f.g.Process, Era: process.Eras[0]}
	c, err := w.Dial()
	if err == nil {
		c.Request = wire.NewRequest(f.g.URL.Host, f.g.URL.Path, c.Session, wire.LegacyVersion, "tools/list", "{}")
	}
	return c, err
}
