package limits

import (
	"testing"
	"time"

	"goblin-actor/bench/report"
)

// ladder returns steps of 1, 2, 4, … clients with the given rates.
func ladder(rates ...float64) []report.LimitStep {
	var steps []report.LimitStep
	for i, rate := range rates {
		clients := 1 << i
		steps = append(steps, report.LimitStep{Clients: clients, Tries: 2, Calls: 1000, PerSecond: rate, P50: 1e6 * float64(clients) / rate, P99: 2e6 * float64(clients) / rate})
	}
	return steps
}

func failing(s []report.LimitStep, from, share int) []report.LimitStep {
	for i := from; i < len(s); i++ {
		s[i].Refused = map[string]int{"QUEUE_FULL": s[i].Calls * share / 100}
	}
	return s
}

func TestFindKnee(t *testing.T) {
	for _, c := range []struct {
		name    string
		steps   []report.LimitStep
		limit   time.Duration
		clients int // 0 = no knee
		ended   string
	}{
		{"nothing measured", nil, 0, 0, "max"},
		{"one step", ladder(100), 0, 1, "max"},
		{"growth up to the end", ladder(100, 200, 400, 800), 0, 8, "max"},
		{"plateau", ladder(100, 200, 390, 400, 395), 0, 4, "plateau"},
		{"noise on the plateau", ladder(100, 200, 380, 400, 350, 410, 405), 0, 4, "plateau"},
		{"a dip on the way up", ladder(100, 200, 150, 600, 1000, 1010, 1000), 0, 16, "plateau"},
		{"flat from the first step", ladder(50, 50, 49), 0, 1, "plateau"},
		{"falling", ladder(100, 200, 150, 80), 0, 2, "plateau"},
		{"p99 exceeded during growth: 20 ms with 2 clients, 26 ms with 4", ladder(100, 200, 310), 22 * time.Millisecond, 2, "p99"},
		{"p99 exceeded with one client", ladder(100), time.Millisecond, 0, "p99"},
		{"p99 exceeded after the plateau", ladder(100, 200, 202, 201, 200), 70 * time.Millisecond, 2, "plateau"},
		{"errors during growth", failing(ladder(100, 200, 400, 800), 3, 5), 0, 4, "errors"},
		{"one error in two hundred", failing(ladder(100, 200, 400, 400, 400), 3, 0), 0, 4, "plateau"},
		{"errors with one client", failing(ladder(100), 0, 50), 0, 0, "errors"},
		{"no calls", []report.LimitStep{{Clients: 1}}, 0, 0, "errors"},
	} {
		k := findKnee(c.steps, c.limit)
		clients := 0
		if k.at >= 0 {
			clients = c.steps[k.at].Clients
		}
		if clients != c.clients || k.ended != c.ended {
			t.Errorf("%s: findKnee = %d clients, %s; want %d, %s", c.name, clients, k.ended, c.clients, c.ended)
		}
	}
}

func TestNextClients(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []report.LimitStep
		limit time.Duration
		most  int
		want  int // 0 = the climb has ended
	}{
		{"the first", nil, 0, 8, 1},
		{"twice as many", ladder(100, 200), 0, 8, 4},
		{"no more than allowed", ladder(100, 200, 400), 0, 5, 5},
		{"the maximum", ladder(100, 200, 400, 800), 0, 8, 0},
		{"flat", ladder(100, 200, 202, 201), 0, 64, 0},
		{"one slower step", ladder(100, 200, 190), 0, 64, 8},
		{"between good and bad", ladder(100, 200, 310), 22 * time.Millisecond, 64, 3},
		{"near enough", []report.LimitStep{{Clients: 16, Calls: 9, PerSecond: 100}, {Clients: 20, Calls: 9, PerSecond: 110, P99: 9e9}}, time.Second, 64, 0},
		{"no good step", ladder(100), time.Millisecond, 64, 0},
	} {
		clients, more := nextClients(c.steps, c.limit, c.most)
		if clients != c.want && more || more != (c.want > 0) {
			t.Errorf("%s: nextClients = %d, %v; want %d", c.name, clients, more, c.want)
		}
	}
}

// Every climb ends, and its steps from the knee on have been measured at least twice.
func TestClimbEnds(t *testing.T) {
	for name, rate := range map[string]func(clients, try int) float64{
		"grows":    func(n, _ int) float64 { return float64(n) },
		"plateau":  func(n, _ int) float64 { return min(float64(n), 20) },
		"falls":    func(n, _ int) float64 { return 100 / float64(n) },
		"one blip": func(n, try int) float64 { return float64(n) / float64(1+9*((n/4)%2*(try%2))) },
	} {
		for _, limit := range []time.Duration{0, 300 * time.Millisecond} {
			var steps []report.LimitStep
			for try := range 1000 {
				n, more := nextClients(steps, limit, 1024)
				if !more {
					n, more = again(steps, limit)
				}
				if !more {
					break
				}
				if try > 60 {
					t.Fatalf("%s, limit %s: the climb has not ended after %d steps", name, limit, try)
				}
				r := rate(n, try)
				steps = with(steps, report.LimitStep{Clients: n, Tries: 1, Calls: 100, PerSecond: r, P99: 1e6 * float64(n) / r})
			}
			for _, s := range steps[max(findKnee(steps, limit).at, 0):] {
				if s.Tries < 2 {
					t.Errorf("%s, limit %s: %d clients measured once", name, limit, s.Clients)
				}
			}
		}
	}
}

func TestWithKeepsTheBetterStep(t *testing.T) {
	steps := with(with(with(nil, report.LimitStep{Clients: 4, Tries: 1, PerSecond: 10}), report.LimitStep{Clients: 1, Tries: 1}), report.LimitStep{Clients: 4, Tries: 1, PerSecond: 20})
	if len(steps) != 2 || steps[0].Clients != 1 || steps[1].PerSecond != 20 || steps[1].Tries != 2 {
		t.Errorf("%+v", steps)
	}
	steps = with(steps, report.LimitStep{Clients: 4, PerSecond: 30, Lost: 1})
	if steps[1].PerSecond != 20 || steps[1].Tries != 3 {
		t.Errorf("a faster step with a lost response: %+v", steps[1])
	}
}

func TestFindHeld(t *testing.T) {
	offered := func(pairs ...float64) []report.LimitStep { // offered, answered
		var steps []report.LimitStep
		for i := 0; i < len(pairs); i += 2 {
			steps = append(steps, report.LimitStep{Offered: pairs[i], PerSecond: pairs[i+1], Calls: 100, P99: 1000 * pairs[i]})
		}
		return steps
	}
	for _, c := range []struct {
		name  string
		steps []report.LimitStep
		limit time.Duration
		want  knee
	}{
		{"all rates sustained", offered(10, 10, 20, 19.8), 0, knee{1, "max"}},
		{"the second is not sustained", offered(10, 10, 20, 12, 40, 12), 0, knee{0, "falls"}},
		{"p99", offered(10, 10, 20, 20), 15 * time.Millisecond, knee{0, "p99"}},
		{"not even the first", offered(10, 3), 0, knee{-1, "falls"}},
		{"as fast with a greater amount", ladder(100, 95, 85), 0, knee{2, "max"}},
		{"slower with a greater amount", ladder(100, 95, 70), 0, knee{1, "falls"}},
		{"errors with a greater amount", failing(ladder(100, 95, 90), 2, 10), 0, knee{1, "errors"}},
		{"one step", ladder(100), 0, knee{0, "max"}},
	} {
		if got := findHeld(c.steps, c.limit); got != c.want {
			t.Errorf("%s: findHeld = %+v, want %+v", c.name, got, c.want)
		}
	}
}
