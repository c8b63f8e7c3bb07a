// Package sim runs the whole gateway in one process, from its clients' requests to its servers' links, on a virtual
// clock and one goroutine at a time. A seed decides which actor handles its next message, and what the peers do and when.
// Such a run is called a story. Equal seeds give equal stories.
package sim

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// statelessActors is the gateway's number of actors for stateless sessions. It is fixed, because the default depends on
// the machine.
const statelessActors = 2

// statelessActors returns the number of actors for stateless sessions that serve the client. Its requests go to each in turn.
func (c *client) statelessActors() int {
	return statelessActors * cmp.Or(len(c.keptAt), len(c.w.nodes))
}

// Params are the parameters of a story. NewParams derives them from the seed. SkippedActs, MaxActs and SkippedScenes
// are set only when a failing story is shortened.
type Params struct {
	Seed          uint64
	Servers       []ServerParams
	Clients       []ClientParams
	Limits        config.Limits
	Queue         config.Queue
	Slots         int           // maxConcurrent
	DelayedTurns  int           // turns per thousand that are delayed; see scheduler
	Faults        int           // percentage of possible faults that happen
	StormTime     time.Duration // until the calm phase
	Pace          time.Duration // average time between two acts of one client, server or other activity
	Watched       bool          `json:",omitempty"` // streams follow the gateway; see startWatchers
	SkippedActs   []int         // numbers of acts to leave out; set when a story was shortened
	MaxActs       int           `json:",omitempty"` // acts to draw at most; 0 = no limit
	SkippedScenes []string      `json:",omitempty"` // names of scenes to leave out

	Wide          bool             `json:",omitempty"` // draw the properties below, too; see traits.go
	Projects      []config.Project `json:",omitempty"`
	OnlyMeta      bool             `json:",omitempty"` // metaTools: only
	StateFile     bool             `json:",omitempty"` // the gateway has a state file
	Authenticated bool             `json:",omitempty"` // clients are authenticated; see intruder.go
	Nodes         int              `json:",omitempty"` // of a cluster; 0 = one gateway that runs alone. See cluster.go
	Bus           bool             `json:",omitempty"` // the nodes find each other on a bus; false = the members of the cluster are fixed
}

// ServerParams are the properties of a server.
type ServerParams struct {
	Modern, HTTP bool
	Dual         bool // supports both eras; see conn.request
	Auto         bool // the gateway must detect the era
	Silent       bool // modern: its lists change without a notification
	Replicas     int
	Honest       bool // see honest.go
	Traits            // see traits.go
}

// ClientParams are the properties of a client.
type ClientParams struct {
	Modern, Answers bool
	Honest          bool // see honest.go
	Old             bool // speaks 2025-03-26
	NoElicitation   bool // does not declare elicitation; old clients only

	Project, ProjectVia string `json:",omitempty"` // its project, and where it names it: path, header or meta
	HeaderValue         string `json:",omitempty"` // its value of the forwarded header
	Principal           string `json:",omitempty"` // "" = not authenticated

	KeptAt   []int `json:",omitempty"` // nodes to which the balancer deals its requests; nil = all
	Declares int   `json:",omitempty"` // bytes of a further capability that it declares
}

// NewParams draws the parameters of a story.
func NewParams(seed uint64) Params {
	r := rand.New(rand.NewPCG(seed, 1))
	p := Params{Seed: seed, Limits: config.Default().Limits, Watched: seed%3 == 0}
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
	p.DelayedTurns = []int{0, 0, 5, 50}[r.IntN(4)]
	p.Faults = []int{0, 20, 50, 100}[r.IntN(4)]
	p.StormTime = time.Duration(5+r.IntN(25)) * time.Minute
	p.Pace = []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}[r.IntN(3)]
	more := rand.New(rand.NewPCG(seed, 5)) // a separate source, so that the other draws stay the same
	for i := range p.Servers {
		p.Servers[i].Silent = more.IntN(3) == 0
	}
	for i := range p.Clients {
		n := more.IntN(8)
		p.Clients[i].Old = !p.Clients[i].Modern && p.Clients[i].Answers && n%4 == 0
		p.Clients[i].NoElicitation = p.Clients[i].Old && n >= 4
	}
	p.addHonest()
	p.widen()
	p.drawPrincipals()
	p.drawCluster()
	return p
}

// world is one story.
type world struct {
	t                      testing.TB
	p                      Params
	scheduler              *scheduler
	serverRand, clientRand *rand.Rand // for servers and clients; during an act, the act's own
	acts                   int        // acts drawn so far
	activities             uint64     // started activities; see repeat
	skipped                map[int]bool
	nodes                  []*node
	config                 config.Config
	servers                []*server
	clients                []*client
	history                *history
	calm                   bool
	began                  time.Time
	guaranteed             []*clientRequest           // unanswered requests of honest clients
	slowest                time.Duration              // longest response time of a guaranteed request
	lastAdmitted           time.Time                  // last response to the honest client that was not refused for lack of buffer space
	lastReload             int                        // moment of the last reload
	toolOf                 map[int]string             // by nonce
	instructionOf          map[int]string             // by nonce: the instruction for the tool
	everSubscribed         map[string]bool            // "client uri": was ever subscribed
	counts                 map[string]int             // how often each situation occurred
	droppedURIs            map[string]bool            // resources that no client subscribes to anymore
	connByName             map[string]*conn           // by the mark in their messages
	revoked                map[string]bool            // names of revoked principals
	usage                  map[string]*identity.Usage // by the name of a principal: the counts of its calls
	strange                map[string]int             // by the id of a principal: its messages with a session of an earlier one
	thefts                 []theft
	forgeries              int // requests of the intruder with a sealed state
	balancer               balancer
	transport              *transport // between the nodes; nil = the gateway runs alone
	moving                 bool       // the members of the cluster change
	stopping               bool       // all nodes stop, so none can serve a request that another passes on
	digest                 hash.Hash
	verbose                bool // print the story
	failures               []string
}

// Outcome is the result of a story.
type Outcome struct {
	Digest        string
	Failures      []string
	Counts        map[string]int
	Simulated     time.Duration
	Steps         int
	Answered      int
	SlowestHonest time.Duration // longest response time of an honest client's request
	Acts          int           // number of acts, including those left out
}

// Run runs the story of p inside a synctest bubble. With verbose, it prints the story.
func Run(t testing.TB, p Params, verbose bool) Outcome {
	w := &world{
		t: t, p: p, verbose: verbose, digest: sha256.New(), history: newHistory(), skipped: map[int]bool{},
		toolOf: map[int]string{}, instructionOf: map[int]string{}, everSubscribed: map[string]bool{}, counts: map[string]int{},
		connByName: map[string]*conn{}, revoked: map[string]bool{}, usage: map[string]*identity.Usage{}, strange: map[string]int{}, droppedURIs: map[string]bool{},
		serverRand: rand.New(rand.NewPCG(p.Seed, 2)), clientRand: rand.New(rand.NewPCG(p.Seed, 3)),
		scheduler: newScheduler(rand.New(rand.NewPCG(p.Seed, 4))),
	}
	w.scheduler.delayed = p.DelayedTurns
	for _, number := range p.SkippedActs {
		w.skipped[number] = true
	}
	w.began = time.Now()
	w.start()
	w.storm()
	w.settle()
	w.finish()
	return Outcome{
		Digest: fmt.Sprintf("%x", w.digest.Sum(nil)[:8]), Failures: w.failures, Counts: w.counts,
		Simulated: time.Since(w.began), Steps: w.scheduler.steps, Answered: w.history.answered, Acts: w.acts, SlowestHonest: w.slowest,
	}
}

// logWriter adds the gateway's log to the story. An error in the log is a violation, because no story contains a
// condition that causes one.
type logWriter struct{ w *world }

func (l logWriter) Write(p []byte) (int, error) {
	if text := string(p[:len(p)-1]); l.w.verbose && !l.w.failed() {
		_, text, _ = strings.Cut(text, " ") // the time
		l.w.print(clock() + "        log " + text)
	}
	if bytes.Contains(p, []byte("level=ERROR")) {
		l.w.violated("the gateway logs an error: %s", p[:len(p)-1])
	}
	return len(p), nil
}

// violated records that an invariant was violated.
func (w *world) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.trace("BROKEN: %s", text)
	w.failures = append(w.failures, clock()+" "+text)
}

func (w *world) failed() bool { return len(w.failures) > 0 }

func clock() string {
	return time.Now().UTC().Format("15:04:05.000")
}

// trace adds a line to the story.
func (w *world) trace(format string, args ...any) {
	line := clock() + " " + fmt.Sprintf(format, args...)
	_, _ = w.digest.Write([]byte(line))
	if w.verbose && !w.failed() { // later lines are of no interest
		w.print(readable(line))
	}
}

// print prints a line unchanged.
func (w *world) print(line string) { _, _ = fmt.Fprintln(w.t.Output(), line) }

// routineMeta matches the sender's identity in every modern request, gatewayMeta the gateway's own identity, and
// sealedValue a state that only the gateway can read.
var (
	routineMeta = regexp.MustCompile(`"io\.modelcontextprotocol/protocolVersion".*?"io\.modelcontextprotocol/clientInfo":\{[^}]*\},?`)
	gatewayMeta = regexp.MustCompile(`"io\.modelcontextprotocol/serverInfo":\{"name":"goblin-actor"[^}]*\},?|"goblin-actor/node":"[^"]*",?`)
	sealedValue = regexp.MustCompile(`("requestState":"[^"]{12})[^"]*`)
)

// readable shortens a line for readers.
func readable(line string) string {
	line = routineMeta.ReplaceAllString(line, "… ")
	line = gatewayMeta.ReplaceAllString(line, "… ")
	line = sealedValue.ReplaceAllString(line, "$1…")
	line = strings.ReplaceAll(line, `"jsonrpc":"2.0",`, "")
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "…"
	}
	return line
}

func (w *world) count(situation string) { w.counts[situation]++ }

// fault decides whether a fault happens: n times in a thousand if p.Faults is 100, proportionally less often if it is
// lower, and never in the calm phase.
func (w *world) fault(n int) bool {
	return !w.calm && w.serverRand.IntN(1000) < n && w.serverRand.IntN(100) < w.p.Faults
}

// latency returns the transfer time of a message.
func (w *world) latency(calm bool) time.Duration {
	if calm || w.serverRand.IntN(10) > 0 {
		return time.Duration(w.serverRand.IntN(3)) * time.Millisecond
	}
	return time.Duration(w.serverRand.IntN(500)) * time.Millisecond
}

// workTime returns how long a server works on a request.
func (w *world) workTime(calm bool) time.Duration {
	if calm || w.serverRand.IntN(4) > 0 {
		return time.Duration(w.serverRand.IntN(20)) * time.Millisecond
	}
	return time.Duration(w.serverRand.IntN(20000)) * time.Millisecond
}

// userDelay returns how long a user takes to react.
func (w *world) userDelay() time.Duration {
	return time.Duration(w.clientRand.IntN(30000)) * time.Millisecond
}

func (w *world) indexOf(c *client) int { return slices.Index(w.clients, c) }

func (w *world) randomTool() string {
	s := w.servers[w.clientRand.IntN(len(w.servers))]
	return s.name + "_" + []string{"a", "a", "a", "b", "b", "extra"}[w.clientRand.IntN(6)]
}

func (w *world) randomURI() string {
	s := w.servers[w.clientRand.IntN(len(w.servers))]
	return s.uris[w.clientRand.IntN(len(s.uris))]
}

// wantedURIs returns the resources that a client wants updates of.
func (w *world) wantedURIs(c *client) map[string]bool {
	uris := map[string]bool{}
	for _, s := range w.servers {
		for _, uri := range s.uris {
			if w.everSubscribed[c.name+" "+uri] && !w.droppedURIs[uri] {
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
