package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
)

// state is all a pool knows. Written by step only.
type state struct {
	server   config.Server
	limits   config.Limits
	registry kernel.Reference
	gateway  kernel.Reference
	store    kernel.Reference
	self     kernel.Reference
	life     uint64    // counts its incarnations
	now      time.Time // of the step
	fault    string    // why no backend is ever started; "" = none

	slots      []*slot // in the order of their numbers
	number     int     // of the newest slot
	turn       int     // round robin
	running    map[message.CallRef]*run
	parked     int // calls among them that wait for a client's answer
	waiting    int // likewise, for the end of a task
	doubt      doubt
	modern     map[int]bool                // replicas that take each call with its own capabilities: one connection carries all classes
	modernOnly map[int]bool                // of them those that have refused to be spoken to in a legacy era
	deviations map[int]map[string]bool     // tools that a replica defines otherwise than they are listed; no entry = none
	eras       map[string]message.KnownEra // by identity of the replicas
	queue      lines                       // calls that wait for a free slot
	queueTimer uint64                      // of the queue's timer
	armed      bool                        // it runs
	rings      time.Time                   // when

	remembered   *remembered         // what was known of the catalog before
	clientsFirst bool                // no backend is started before clients have been told what is remembered
	cached       bool                // it is what clients are shown, or a part of that
	shown        *slot               // the replica whose catalog is shown; nil = what was shown last is still
	info         *message.ServerInfo // of the last one that was ready
	counts       [protocol.ItemKinds]int
	listedTools  [][]byte // as clients are shown them, where there are several replicas
	subs         map[subKey]*subscription
	subscribed   map[string]int      // how many of them each tenant has, by its key; no entry = none
	queries      map[uint64]query    // subscribes and unsubscribes under way, by our number
	asking       map[string]int      // how many of them are a tenant's; at most maxQueries; no entry = none
	turns        map[string][]string // URIs of a tenant's subscriptions that wait for their turn; no entry = none
	refusals     int                 // subscriptions refused since the last yes: how long the next pause is
	askingAgain  bool                // a clock runs until what was refused is asked again
	awaiting     bool                // a clock runs for subscribers that wait for a server
	lastQuery    uint64
	connections  map[int]uint64 // that there have been, by replica: counted on when it is replaced
	confirms     uint64         // number of the newest question to the registry
	refreshes    refreshes
	tenants      map[string]*tenant // by their keys; those that have connections
	tending      bool               // a clock runs for their connections
	mentions     mentions
	rateTold     time.Time               // when it was last logged that somebody calls too often
	rates        policy.Buckets[rateKey] // of the tools that someone's calls are limited of
	logins       map[message.LoginKey]*login
	revoking     map[message.LoginKey]bool // those that end for good
	loginWaits   map[message.CallRef]*waitsForLogin
	lock         lock                          // what clients have been told of it
	loginURL     func(message.LoginKey) string // where one logs in, now; "" = nowhere
	level        protocol.Level                // log level wanted by clients; LevelNone = nobody has said

	pauses   pauses
	timeouts timeouts
	rest     rest
	settled  bool // every replica has been ready or has failed once
	failed   bool // the first attempt failed
}

// run is a call at a backend.
type run struct {
	at     *slot
	parked bool
	waits  bool // it makes the server do nothing (message.Request.Waits)

	deadline  time.Time               // until when it may wait in the queue, if it has to again; zero = it has not waited
	broken    *message.ConnectionLost // it was sent before, to a connection that broke; nil = it was not
	cancelled bool                    // its holder wants no answer any more
	tried     []*slot                 // that have given it back; nil = none
}

// slot is one backend as its pool sees it. A main slot carries the catalog and the subscriptions beside calls, but for those of tenants.
type slot struct {
	number      int
	replica     int
	labels      map[string]string // of its replica; not written to
	tenant      *message.Tenant   // whose calls alone it carries; nil = everybody's
	used        time.Time         // by its tenant, last
	main        bool
	can         message.CapabilitySet // what it announces; slots that are not main serve the class of clients with just that set
	legacy      bool                  // opened in a legacy era, for legacy clients of a server that is modern
	ref         kernel.Reference
	phase       message.Phase
	reason      string // clients may see it
	noLogin     bool   // with phase NeedsLogin: no login helps
	lastLine    string // on stderr: not for clients
	since       time.Time
	nextAttempt time.Time
	incarnation uint64
	info        *message.ServerInfo // since it was ready
	lists       [protocol.ItemKinds]itemList
	confirm     uint64 // number of the question whether clients see its catalog; 0 = not asked
	offered     bool   // they do: it is ready for everybody to see
	inFlight    int    // calls, without those that wait
	wasReady    bool
	hasFailed   bool
	failing     bool      // its first attempt, since it was wanted or was ready, has failed
	failure     string    // why the newest attempt has failed, or the connection was lost, until it is ready; clients may see it
	explained   string    // likewise, with the last line on stderr: not for clients
	down        time.Time // since when it is not ready
	lost        bool      // it has given a call back because its connection has ended; its own news of that follows
	leaving     bool      // replaced: takes no new calls
	retiring    bool      // it goes when another has taken its place
	renewal     uint64    // of its login: which of them it has been told to use
	asks        bool      // it waits for its turn to start
	hurries     bool      // the gateway knows that somebody waits for that
	starts      bool      // it has its turn
}

func newState(o Options, self kernel.Reference, life uint64) *state {
	return &state{
		life: life, remembered: newRemembered(o),
		server: o.Server, limits: o.Limits, registry: o.Registry, gateway: o.Gateway, store: o.Store, self: self, fault: o.Server.Fault,
		running: map[message.CallRef]*run{}, subs: map[subKey]*subscription{}, subscribed: map[string]int{}, queries: map[uint64]query{}, asking: map[string]int{}, turns: map[string][]string{}, connections: map[int]uint64{}, modern: map[int]bool{}, modernOnly: map[int]bool{}, deviations: map[int]map[string]bool{}, tenants: map[string]*tenant{}, logins: map[message.LoginKey]*login{}, revoking: map[message.LoginKey]bool{}, loginWaits: map[message.CallRef]*waitsForLogin{}, loginURL: loginURLOf(o), eras: known(o),
	}
}
