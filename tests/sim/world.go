// Package sim runs the whole gateway, from its clients' requests to its servers' links, in one process, on a virtual
// clock, with one thread of fate: a seed decides which actor handles its next message, what peers do and when. The same
// seed tells the same story.
package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
)

// desks is how many desks the gateway has, whatever the machine: a story must not depend on that.
const desks = 2

// Params are what a seed decides of a story before it begins.
type Params struct {
	Seed    uint64
	Servers []ServerParams
	Clients []ClientParams
	Limits  config.Limits
	Queue   config.Queue
	Slots   int           // maxConcurrent
	Sloth   int           // see fate
	Faults  int           // of 100: how much of what may go wrong does
	Lasts   time.Duration // until all calm down
	Pace    time.Duration // between two things that happen, about
	Without []int         // acts that are left out, by their numbers: what is left of a story when it was shortened
	Acts    int           `json:",omitempty"` // so many are drawn, no more; 0 = as many as there are
	Unseen  []string      `json:",omitempty"` // scenes that are left out

	Wide      bool             `json:",omitempty"` // the rest is drawn too: see wide.go
	Projects  []config.Project `json:",omitempty"`
	OnlyMeta  bool             `json:",omitempty"` // metaTools: only
	Remembers bool             `json:",omitempty"` // there is a state file
	Asked     bool             `json:",omitempty"` // clients are asked who they are: see who.go
}

// ServerParams say what a server is.
type ServerParams struct {
	Modern, HTTP bool
	Dual         bool // it speaks both eras, each connection one
	Auto         bool // the gateway has to find out which it speaks
	Silent       bool // modern: its lists change without a word
	Replicas     int
	Honest       bool // see honest.go
	Traits            // see wide.go
}

// ClientParams say what a client is.
type ClientParams struct {
	Modern, Answers bool
	Honest          bool // see honest.go
	Old             bool // it speaks 2025-03-26
	Formless        bool // it declares no elicitation; only old clients leave it out

	Project, Carrier string `json:",omitempty"` // the project it is in, and how it says so: path, header or meta
	Token            string `json:",omitempty"` // what it has of the header that is forwarded
	Who              string `json:",omitempty"` // its principal; "" = nobody is asked
}

// NewParams draws the parameters of a story.
func NewParams(seed uint64) Params {
	r := rand.New(rand.NewPCG(seed, 1))
	p := Params{Seed: seed, Limits: config.Default().Limits}
	for range 1 + r.IntN(3) {
		p.Servers = append(p.Servers, ServerParams{Modern: r.IntN(3) == 0, HTTP: r.IntN(2) == 0, Replicas: 1 + r.IntN(2), Dual: r.IntN(4) == 0, Auto: r.IntN(3) == 0})
	}
	for range 2 + r.IntN(4) {
		p.Clients = append(p.Clients, ClientParams{Modern: r.IntN(2) == 0, Answers: r.IntN(4) > 0})
	}
	p.Limits.MaxInFlightPerClient = 2 << r.IntN(6)
	p.Limits.ParkedCall = []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute}[r.IntN(3)]
	p.Limits.ParkedPerServer, p.Limits.ParkedPerClient = 1<<r.IntN(5), 1<<r.IntN(4)
	p.Limits.SessionIdle = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute}[r.IntN(3)]
	p.Limits.MaxSessions = len(p.Clients) + r.IntN(20)
	p.Limits.MaxBufferedBytes = 64 << 10 << r.IntN(4)
	p.Limits.MaxMessageBytes = 32 << 10
	p.Queue = config.Queue{Size: 1 << r.IntN(6), Timeout: time.Duration(1+r.IntN(10)) * time.Second}
	p.Slots = 1 << r.IntN(5)
	p.Sloth = []int{0, 0, 5, 50}[r.IntN(4)]
	p.Faults = []int{0, 20, 50, 100}[r.IntN(4)]
	p.Lasts = time.Duration(5+r.IntN(25)) * time.Minute
	p.Pace = []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}[r.IntN(3)]
	more := rand.New(rand.NewPCG(seed, 5)) // of its own, so that the rest stays as it was
	for i := range p.Servers {
		p.Servers[i].Silent = more.IntN(3) == 0
	}
	for i := range p.Clients {
		n := more.IntN(8)
		p.Clients[i].Old = !p.Clients[i].Modern && p.Clients[i].Answers && n%4 == 0
		p.Clients[i].Formless = p.Clients[i].Old && n >= 4
	}
	p.addHonest()
	p.widen()
	p.drawPrincipals()
	return p
}

// world is one story.
type world struct {
	t          testing.TB
	p          Params
	fate       *fate
	srng, crng *rand.Rand // of servers, of clients; while an act is done, the act's own
	acts       int        // so many were drawn
	lines      uint64     // who does something now and then
	without    map[int]bool
	gateway    *actors.Gateway
	config     config.Config
	servers    []*server
	clients    []*client
	book       *book
	calm       bool
	began      time.Time
	promises   []*ask           // of honest clients, without an answer
	slowest    time.Duration    // that one was kept
	letIn      time.Time        // the last answer of the honest client that was not for want of room
	reloads    int              // moment of the last
	toolOf     map[int]string   // by nonce
	wordOf     map[int]string   // by nonce: what the tool was told to do
	wanted     map[string]bool  // "client uri": was subscribed to at any time
	counts     map[string]int   // situations
	dropped    map[string]bool  // by URI: nobody wants to hear of it any more
	marks      map[string]*conn // connections by what their messages are marked with
	revoked    map[string]bool  // principals that are nobody any more, by name
	intruder   *downstream.PipeClient
	state      string // path of the state file; "" = there is none
	digest     hash.Hash
	tell       bool // print the story
	failures   []string
}

// Outcome is how a story ended.
type Outcome struct {
	Digest    string
	Failures  []string
	Counts    map[string]int
	Simulated time.Duration
	Steps     int
	Answered  int
	Slowest   time.Duration // that an honest client waited
	Acts      int           // how many things happened, or were left out
}

// Run tells the story of the parameters, inside a synctest bubble. tell prints it.
func Run(t testing.TB, p Params, tell bool) Outcome {
	w := &world{
		t: t, p: p, tell: tell, digest: sha256.New(), book: newBook(), toolOf: map[int]string{}, wordOf: map[int]string{}, wanted: map[string]bool{}, counts: map[string]int{}, marks: map[string]*conn{}, revoked: map[string]bool{}, dropped: map[string]bool{},
		srng: rand.New(rand.NewPCG(p.Seed, 2)), crng: rand.New(rand.NewPCG(p.Seed, 3)),
	}
	w.fate = newFate(rand.New(rand.NewPCG(p.Seed, 4)))
	w.fate.sloth = p.Sloth
	w.without = map[int]bool{}
	for _, number := range p.Without {
		w.without[number] = true
	}
	w.began = time.Now()
	w.begin()
	w.storm()
	w.settle()
	w.end()
	return Outcome{
		Digest: fmt.Sprintf("%x", w.digest.Sum(nil)[:8]), Failures: w.failures, Counts: w.counts,
		Simulated: time.Since(w.began), Steps: w.fate.steps, Answered: w.book.answered, Acts: w.acts, Slowest: w.slowest,
	}
}

func (w *world) begin() {
	w.config = config.Default()
	w.config.Limits = w.p.Limits
	switch {
	case w.p.OnlyMeta && w.metaTools():
		w.config.MetaTools = "only"
	case !w.metaTools():
		w.config.MetaTools = "false"
	default: // the worlds are too small for auto to list them
		w.config.MetaTools = "all"
	}
	w.config.Projects = w.p.Projects
	if w.p.Asked {
		w.config.Auth.Keys = "keys.yaml"
		w.count("a story in which clients are asked who they are")
	}
	for i, sp := range w.p.Servers {
		s := &server{w: w, name: nameOf(i), Traits: sp.Traits, modern: sp.Modern, dual: sp.Dual, http: sp.HTTP, replicas: sp.Replicas, silent: sp.Silent, honest: sp.Honest, changed: map[string]int{},
			tools: []string{"a", "b"}, uris: []string{fmt.Sprintf("x://s%d/1", i), fmt.Sprintf("x://s%d/2", i)}, quiet: fmt.Sprintf("x://s%d/quiet", i)}
		w.servers = append(w.servers, s)
		c := config.DefaultServer()
		c.Name, c.Written, c.Order, c.Replicas = s.name, s.name, i, sp.Replicas
		c.Queue, c.MaxConcurrent, c.StartTimeout = w.p.Queue, w.p.Slots, 20*time.Second
		c.Protocol = "legacy"
		if sp.Honest {
			c.Queue, c.MaxConcurrent = config.DefaultServer().Queue, config.DefaultServer().MaxConcurrent
		}
		if sp.Modern {
			c.Protocol = "modern"
		}
		if sp.Dual || sp.Auto {
			c.Protocol = "auto"
		}
		if sp.HTTP {
			for n := range sp.Replicas {
				c.URLs = append(c.URLs, fmt.Sprintf("http://127.0.0.1:%d/mcp", 9000+10*i+n))
			}
			c.Type, c.Isolation, c.Replicas = "http", []string{"class", "shared"}[i%2], 1
		} else {
			c.Command, c.Args = "simulated", []string{c.Name} // servers that are started alike share what is remembered of their lists
		}
		if w.p.Wide {
			sp.configured(&c)
		}
		w.config.Servers = append(w.config.Servers, c)
	}
	for i, s := range w.servers {
		if s.Members > 0 {
			w.group(i)
		}
	}
	if w.p.Wide {
		w.count("a wide story")
	}
	if w.p.Remembers {
		w.state = filepath.Join(w.t.TempDir(), "state.db")
	}
	w.open()
	for i, cp := range w.p.Clients {
		c := &client{w: w, name: fmt.Sprintf("c%d", i), modern: cp.Modern, answers: cp.Answers, old: cp.Old, formless: cp.Formless, honest: cp.Honest, token: cp.Token, carrier: cp.Carrier, open: map[int]*ask{}, asked: map[string]*ask{}, withdrawn: map[string]bool{}, lines: map[string]bool{}, reading: map[wire]bool{}, subs: map[string]*subscribed{}, left: map[wire]bool{}}
		for j := range w.p.Projects {
			if w.p.Projects[j].Name == cp.Project {
				c.project = &w.p.Projects[j]
			}
		}
		if cp.Who != "" {
			c.who = principal(cp.Who)
		}
		c.pipe = &downstream.PipeClient{Handler: w.gateway.Front(), Budget: w.gateway.Budget(), Limit: 64 << 10, More: c.wake}
		w.clients = append(w.clients, c)
	}
	w.known()
	w.fate.after = w.always
}

// nameOf is what the server with that number is called.
func nameOf(i int) string { return fmt.Sprintf("s%d", i) }

// open starts a gateway with the configuration as it stands.
func (w *world) open() {
	cfg := w.config
	g, err := actors.Start(&cfg, actors.Options{Version: "simulated", Log: slog.New(slog.NewTextHandler(logWriter{w}, nil)), Scheduler: w.fate, StatelessSessions: desks, State: w.state,
		Open: func(c config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
			for _, s := range w.servers {
				if s.name == c.Name || s.name == c.Group {
					kind := "stdio"
					if s.http {
						kind = "http"
					}
					return func(sink upstream.Sink) upstream.Link { return s.open(sink, c.Headers[tokenHeader]) }, kind
				}
			}
			panic("no server " + c.Name)
		}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.gateway = g
	w.known()
}

// logWriter puts the gateway's log into the story.
type logWriter struct{ w *world }

func (l logWriter) Write(p []byte) (int, error) {
	if text := string(p[:len(p)-1]); l.w.tell && !l.w.failed() {
		_, text, _ = strings.Cut(text, " ") // the time
		l.w.print(clock() + "        log " + text)
	}
	if bytes.Contains(p, []byte("level=ERROR")) {
		l.w.broken("nothing here needs a person, and the gateway logs %s", p[:len(p)-1])
	}
	return len(p), nil
}

// broken notes that a law was broken.
func (w *world) broken(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.trace("BROKEN: %s", text)
	w.failures = append(w.failures, clock()+" "+text)
}

func (w *world) failed() bool { return len(w.failures) > 0 }

func clock() string {
	return time.Now().UTC().Format("15:04:05.000")
}

// trace writes a line of the story.
func (w *world) trace(format string, args ...any) {
	line := clock() + " " + fmt.Sprintf(format, args...)
	_, _ = w.digest.Write([]byte(line))
	if w.tell && !w.failed() { // what comes after a broken law is of no interest
		w.print(readable(line))
	}
}

// print writes a line of the story as it is, for people.
func (w *world) print(line string) { _, _ = fmt.Fprintln(w.t.Output(), line) }

// everyTime is what each modern request says of its sender, and each handshake of the gateway; sealed is what only the gateway reads.
var (
	everyTime = regexp.MustCompile(`"io\.modelcontextprotocol/protocolVersion".*?"io\.modelcontextprotocol/clientInfo":\{[^}]*\},?`)
	ourselves = regexp.MustCompile(`"io\.modelcontextprotocol/serverInfo":\{"name":"goblin-actor"[^}]*\},?|"goblin-actor/node":"[^"]*",?`)
	sealed    = regexp.MustCompile(`("requestState":"[^"]{12})[^"]*`)
)

// readable leaves out of a line what people need not read.
func readable(line string) string {
	line = everyTime.ReplaceAllString(line, "… ")
	line = ourselves.ReplaceAllString(line, "… ")
	line = sealed.ReplaceAllString(line, "$1…")
	line = strings.ReplaceAll(line, `"jsonrpc":"2.0",`, "")
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "…"
	}
	return line
}

func (w *world) count(situation string) { w.counts[situation]++ }

// fault reports whether something goes wrong: n of a thousand times, in a story where everything does.
func (w *world) fault(n int) bool {
	return !w.calm && w.srng.IntN(1000) < n && w.srng.IntN(100) < w.p.Faults
}

// lag is how long bytes take.
func (w *world) lag(calm bool) time.Duration {
	if calm || w.srng.IntN(10) > 0 {
		return time.Duration(w.srng.IntN(3)) * time.Millisecond
	}
	return time.Duration(w.srng.IntN(500)) * time.Millisecond
}

// think is how long a server works.
func (w *world) think(calm bool) time.Duration {
	if calm || w.srng.IntN(4) > 0 {
		return time.Duration(w.srng.IntN(20)) * time.Millisecond
	}
	return time.Duration(w.srng.IntN(20000)) * time.Millisecond
}

// patience is how long people take.
func (w *world) patience() time.Duration { return time.Duration(w.crng.IntN(30000)) * time.Millisecond }

func (w *world) number(c *client) int { return slices.Index(w.clients, c) }

func (w *world) anyTool() string {
	s := w.servers[w.crng.IntN(len(w.servers))]
	return s.name + "_" + []string{"a", "a", "a", "b", "b", "extra"}[w.crng.IntN(6)]
}

func (w *world) anyURI() string {
	s := w.servers[w.crng.IntN(len(w.servers))]
	return s.uris[w.crng.IntN(len(s.uris))]
}

// wants are the resources a modern client asks to hear of.
func (w *world) wants(c *client) map[string]bool {
	uris := map[string]bool{}
	for _, s := range w.servers {
		for _, uri := range s.uris {
			if w.wanted[c.name+" "+uri] && !w.dropped[uri] {
				uris[uri] = true
			}
		}
	}
	return uris
}

func mustFrame(raw string) (f protocol.Frame) {
	if err := f.Parse([]byte(raw)); err != nil {
		panic(err.Error() + ": " + raw)
	}
	return f
}
