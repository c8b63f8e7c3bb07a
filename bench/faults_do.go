package bench

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"time"
)

// readyFor is slightly longer than the time after which the gateway reconnects to a lost server immediately.
const readyFor = 5500 * time.Millisecond

// do injects the fault and waits for recovery.
func (f *faultRun) do(hurt *witnesses) error {
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

// kill kills the server's process. A server on HTTP is restarted immediately at its address; one on stdio is restarted by the gateway.
//
// A gateway reconnects immediately to a server that had been ready for 5 s (at a URL a few times in the first half second), and
// otherwise after half a second. The fault is injected after the server has been ready for that long.
func (f *faultRun) kill(hurt *witnesses) error {
	f.pause(f.o.ready - time.Since(f.ready))
	pid, err := f.server.tell("pid")
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
	f.began = time.Since(epoch)
	f.server.close()
	if at := f.server.at; at != nil {
		<-at.done
		if f.server.at, err = f.helper(append(f.server.args, "--listen", at.url.Host)...); err != nil {
			return err
		}
	}
	f.recovers(hurt, f.began)
	return nil
}

// hang makes the server answer nothing for a while.
func (f *faultRun) hang(hurt *witnesses) error {
	if _, err := f.server.tell("hang %d", f.o.Lasts.Milliseconds()); err != nil {
		return err
	}
	f.began = time.Since(epoch)
	f.recovers(hurt, f.began+f.o.Lasts)
	return nil
}

// smallWindow is the number of bytes that a slow reader's socket accepts before the gateway has to buffer the rest.
const smallWindow = 4096

// slow has clients request large results without reading them until the fault is over, when they disconnect.
func (f *faultRun) slow(hurt *witnesses) error {
	large := &witnesses{at: f.g.process, era: f.o.Clients, tool: f.name + "_big"}
	var readers []*client
	defer func() {
		for _, c := range readers {
			c.close()
		}
	}()
	for range f.o.Readers {
		c, err := large.dial()
		if err != nil {
			return err
		}
		readers = append(readers, c)
		if tcp, ok := c.conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(smallWindow)
		}
		if _, err := c.conn.Write(c.request.next()); err != nil {
			return err
		}
	}
	end := f.began + f.o.Lasts
	f.until(func() bool {
		f.sample()
		return time.Since(epoch) > end
	})
	f.recovers(hurt, end)
	return nil
}

// leave has clients cut their connections in the middle of calls, one after the other, while the server hangs.
func (f *faultRun) leave(hurt *witnesses) error {
	if _, err := f.server.tell("hang %d", min(f.o.Lasts, faultTimeout/2).Milliseconds()); err != nil {
		return err
	}
	gone := &witnesses{at: f.g.process, era: f.o.Clients, tool: f.name + "_echo"}
	end := f.began + f.o.Lasts
	n := 0
	for ; time.Since(epoch) < end && n < 5000 && f.ctx.Err() == nil; n++ {
		c, err := gone.dial()
		if err != nil {
			return err
		}
		if tcp, ok := c.conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // send a reset, as for a killed client
		}
		_, err = c.conn.Write(c.request.next())
		c.close()
		if err != nil {
			return err
		}
		if n%50 == 0 {
			f.sample()
		}
	}
	f.recovers(hurt, time.Since(epoch))
	f.row.Note = fmt.Sprintf("%d clients disconnected in the middle of a call; their sessions (%.0f with the other clients') remain until the idle timeout", n, sessionsIn(scrape(f.g.url.Host)))
	return nil
}

// flood has the server change its list and announce it as fast as it can. Recovery is when clients get the last list.
func (f *faultRun) flood() error {
	before, err := f.server.tell("lists")
	if err != nil {
		return err
	}
	a := &audience{all: make(chan struct{}, 1)}
	defer a.close()
	if err := a.open(f.ctx, f.g.process, f.o.Clients, 1); err != nil {
		return err
	}
	f.began = time.Since(epoch)
	flooded := make(chan struct{})
	var changes int
	go func() {
		defer close(flooded)
		changes, err = f.server.tell("flood %d", f.o.Lasts.Milliseconds())
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
	end := time.Since(epoch)
	list, err := f.lister()
	if err != nil {
		return err
	}
	defer list.leave(f.g.process)
	last := fmt.Appendf(nil, `"%s_change_%d"`, f.name, changes)
	f.until(func() bool {
		var body []byte
		if body, err = list.exchange(list.request.next()); err != nil || bytes.Contains(body, last) {
			return true
		}
		f.sample()
		return false
	})
	if err != nil {
		return err
	}
	f.row.Back = millis(time.Since(epoch) - end)
	f.pause(fanoutQuiet)
	after, err := f.server.tell("lists")
	f.row.Note = fmt.Sprintf("%d changes, %d lists fetched, %d notifications to a client", changes, after-before, a.events.Load())
	return err
}

// lister returns a client that can request the list of tools.
func (f *faultRun) lister() (*client, error) {
	w := &witnesses{at: f.g.process, era: Eras[0]}
	c, err := w.dial()
	if err == nil {
		c.request = newRequest(f.g.url.Host, f.g.url.Path, c.session, protocolVersion, "tools/list", "{}")
	}
	return c, err
}
