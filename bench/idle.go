package bench

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"
)

// Idle measures the cost of sessions that only hold a stream open.
type Idle struct {
	Sessions   int         `json:"sessions"`
	Phases     []IdlePhase `json:"phases"`
	PerSession float64     `json:"rssKiBPerSession"` // after the first wave, compared with the start
}

// IdlePhase is the gateway's memory at one moment, after a garbage collection.
type IdlePhase struct {
	Name  string  `json:"name"`
	RSS   float64 `json:"rssMiB"`
	Heap  float64 `json:"heapMiB"`
	Stack float64 `json:"stackMiB"`
	Gos   float64 `json:"goroutines"`
	Known float64 `json:"sessions"` // sessions that the gateway has
}

func (i *Idle) table() [][]string {
	rows := [][]string{{"phase", "sessions", "RSS MiB", "heap MiB", "stack MiB", "goroutines", "RSS KiB/session"}}
	for _, p := range i.Phases {
		per := "–"
		if p.Known > 0 {
			per = fmt.Sprintf("%.1f", (p.RSS-i.Phases[0].RSS)*1024/p.Known)
		}
		rows = append(rows, []string{p.Name, fmt.Sprint(p.Known), fmt.Sprintf("%.1f", p.RSS), fmt.Sprintf("%.1f", p.Heap),
			fmt.Sprintf("%.1f", p.Stack), fmt.Sprint(p.Gos), per})
	}
	return rows
}

// idle opens sessions with a GET stream each, closes them, and repeats this. Growth from the first wave to the second is a leak.
func (s *setup) idle() (*Idle, error) {
	web, err := s.helper("server")
	if err != nil {
		return nil, err
	}
	g, err := s.gateway(map[string]any{"h0": map[string]any{"url": web.url.String(), "type": "http"}})
	if err != nil {
		return nil, err
	}
	s.plan(2 * s.o.Sessions)
	result := &Idle{Sessions: s.o.Sessions}
	note := func(name string) error {
		phase, err := g.memory(name)
		result.Phases = append(result.Phases, phase)
		fmt.Fprintf(s.progress, "bench idle: %s: %.0f sessions, %.1f MiB resident\n", name, phase.Known, phase.RSS)
		return err
	}
	if err := note("before"); err != nil {
		return nil, err
	}
	for _, wave := range []string{"first wave", "second wave"} {
		streams, err := s.openStreams(g, s.o.Sessions)
		if err == nil {
			err = note(wave)
		}
		for _, w := range streams {
			w.close()
		}
		if err == nil {
			err = g.waitEmpty(s.ctx)
		}
		if err == nil {
			err = note("after the " + wave)
		}
		if err != nil {
			return nil, err
		}
	}
	first := result.Phases[1]
	if first.Known > 0 {
		result.PerSession = (first.RSS - result.Phases[0].RSS) * 1024 / first.Known
	}
	return result, nil
}

// openStreams initializes n sessions over one connection and opens a stream on a separate connection for each.
// The caller closes the returned streams, even after an error.
func (s *setup) openStreams(g *gateway, n int) ([]*stream, error) {
	host, path := g.url.Host, g.url.Path
	post, err := dial("tcp", host)
	if err != nil {
		return nil, err
	}
	defer post.close()
	var streams []*stream
	for range n {
		if s.ctx.Err() != nil {
			return streams, context.Cause(s.ctx)
		}
		if err := post.handshake(host, path); err != nil {
			return streams, err
		}
		w, err := dial("tcp", host)
		if err != nil {
			return streams, err
		}
		w.in = bufio.NewReaderSize(w.conn, 1024)
		streams = append(streams, &stream{w, host, path, post.session})
		if _, err := w.listen(host, path, post.session); err != nil {
			return streams, err
		}
		s.step()
	}
	return streams, nil
}

// stream is an open GET stream and its session.
type stream struct {
	*wire
	host, path, session string
}

// close ends the session and thereby the stream.
func (x *stream) close() {
	if w, err := dial("tcp", x.host); err == nil {
		_, _ = w.exchange(deleteRequest(x.host, x.path, x.session))
		w.close()
	}
	x.wire.close()
}

// listen opens the GET stream on w and reads the response header. It reports whether the response is chunked.
func (w *wire) listen(host, path, session string) (chunked bool, err error) {
	if err := w.conn.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(w.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMCP-Protocol-Version: %s\r\n\r\n",
		path, host, session, protocolVersion)
	if err != nil {
		return false, err
	}
	if chunked, err = w.streamHead(); err != nil {
		return false, err
	}
	return chunked, w.conn.SetDeadline(time.Time{})
}

// streamHead reads the header of a response that must be an event stream.
func (w *wire) streamHead() (chunked bool, err error) {
	if err := w.conn.SetReadDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return false, err
	}
	if _, chunked, err = w.head(); err != nil {
		return false, fmt.Errorf("open stream: %w", err)
	}
	if w.status != 200 || !w.eventStream {
		return false, fmt.Errorf("open stream: status %d, event stream %v", w.status, w.eventStream)
	}
	return chunked, nil
}

// memory triggers a garbage collection in the gateway and returns the memory in use.
func (g *gateway) memory(name string) (IdlePhase, error) {
	w, err := dial("unix", g.socket)
	if err != nil {
		return IdlePhase{}, err
	}
	defer w.close()
	for range 2 { // the second one also frees what finalizers kept
		_, err := w.get("admin", "/debug/pprof/heap?gc=1")
		if err := w.expect("collect garbage", 200, nil, err); err != nil {
			return IdlePhase{}, err
		}
	}
	resident := g.usage().rss // before the metrics request, which creates garbage for every session
	m := scrape(g.url.Host)
	return IdlePhase{Name: name, RSS: float64(resident) / (1 << 20), Heap: m["go_memstats_heap_inuse_bytes"] / (1 << 20),
		Stack: m["go_memstats_stack_inuse_bytes"] / (1 << 20), Gos: m["go_goroutines"], Known: sessionsIn(m)}, nil
}

// waitEmpty waits up to 15 s until the gateway has no sessions.
func (g *gateway) waitEmpty(ctx context.Context) error {
	for range 150 {
		if sessionsIn(scrape(g.url.Host)) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the gateway still has %g sessions 15 s after they ended", sessionsIn(scrape(g.url.Host)))
}

func sessionsIn(m map[string]float64) float64 {
	var n float64
	for series, value := range m {
		if strings.HasPrefix(series, "goblin_sessions") {
			n += value
		}
	}
	return n
}
