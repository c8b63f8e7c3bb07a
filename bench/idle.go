package bench

import (
	"context"
	"fmt"

	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/wire"
)

// idle opens sessions with a GET stream each and closes them, in two waves. Clearly more memory after the second wave
// than after the first indicates a leak.
func (s *setup) idle() (*report.Idle, error) {
	web, err := s.Helper("server")
	if err != nil {
		return nil, err
	}
	g, err := s.Gateway(map[string]any{"h0": map[string]any{"url": web.URL.String(), "type": "http"}})
	if err != nil {
		return nil, err
	}
	s.plan(2 * s.o.Sessions)
	result := &report.Idle{Sessions: s.o.Sessions}
	note := func(name string) error {
		m, err := g.Memory()
		phase := report.IdlePhase{Name: name, RSS: m.RSS, Heap: m.Heap, Stack: m.Stack, Gos: m.Goroutines, Known: m.Sessions}
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
			w.Close()
		}
		if err == nil {
			err = g.WaitEmpty(s.ctx)
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
func (s *setup) openStreams(g *process.Gateway, n int) ([]*wire.Stream, error) {
	host, path := g.URL.Host, g.URL.Path
	post, err := wire.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	defer post.Close()
	var streams []*wire.Stream
	for range n {
		if s.ctx.Err() != nil {
			return streams, context.Cause(s.ctx)
		}
		if err := post.Handshake(host, path); err != nil {
			return streams, err
		}
		w, err := wire.DialStream(host)
		if err != nil {
			return streams, err
		}
		streams = append(streams, wire.NewStream(w, host, path, post.Session))
		if _, err := w.OpenStream(host, path, post.Session); err != nil {
			return streams, err
		}
		s.step()
	}
	return streams, nil
}
