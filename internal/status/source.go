package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source provides everything that the console shows of a gateway, in the same process or through the admin socket. Its methods
// are safe for concurrent use and return when ctx ends. Results must not be modified.
type Source interface {
	// Status returns the current state.
	Status(ctx context.Context) (*Snapshot, error)

	// Items returns the catalog, or nil if its version equals known. If known is 0, it always returns the catalog.
	Items(ctx context.Context, known uint64) (*Items, error)

	// Events returns the stored events after the event with the given number, oldest first; 0 = all. It does not wait for new
	// ones.
	Events(ctx context.Context, after uint64) ([]Event, error)

	// Lines returns stderr and log lines of a server: see Events.Lines.
	Lines(ctx context.Context, server string, after uint64) ([]Event, error)

	// Finished returns finished calls: see Metrics.Finished.
	Finished(ctx context.Context, server string, after uint64) ([]FinishedCall, error)

	// Users returns the principals whose names contain name: see Local.Users.
	Users(ctx context.Context, name string) (Users, error)

	// Logins returns the logins at servers: see Local.Logins.
	Logins(ctx context.Context) ([]Login, error)

	// Denials returns refused requests: see Local.Denials.
	Denials(ctx context.Context) ([]Denial, error)

	// Nodes returns the nodes of the cluster, sorted by name, and asks each of the others about its Activity. It returns an
	// empty list if the gateway runs alone.
	Nodes(ctx context.Context) ([]NodeReport, error)

	// Usage returns the counters of all items that were called: see Metrics.Usage.
	Usage(ctx context.Context) ([]ItemUsage, error)

	// Item returns the complete JSON of the item with a public name, as clients get it. kind is that of ItemUsage; "" =
	// any. The error wraps ErrNotThere if there is no such item.
	Item(ctx context.Context, kind, public string) ([]byte, error)

	// Records returns recordings of actors' messages: see Local.Records.
	Records(ctx context.Context, q RecordQuery) ([]Recording, error)

	// Payloads returns the kept payloads of calls: see Local.Payloads.
	Payloads(ctx context.Context, q PayloadQuery) ([]KeptPayloads, error)

	// Metrics returns the page of /metrics.
	Metrics(ctx context.Context) (string, error)

	// Follow calls tell with each Notice, one at a time, until ctx ends, tell returns an error, or the stream is complete (FollowOptions.Once).
	// It returns the reason, or nil for a complete stream. If the connection is lost, it reconnects as often as necessary. If the first
	// connection fails, it returns the error.
	Follow(ctx context.Context, o FollowOptions, tell func(Notice) error) error

	// Act starts an operator's action. It returns once the action has started or, for Reload, Enable and Disable, once the
	// configuration is in force.
	Act(ctx context.Context, a Action) error

	// Use calls a tool, gets a prompt or reads a resource: see UseFunc.
	Use(ctx context.Context, u Use, tell func(UseEvent)) (UseResult, error)

	// Answer answers a question of a running Use. It returns ErrNoQuestion if the question is no longer open.
	Answer(ctx context.Context, a UseAnswer) error
}

// Action is an action of an operator.
type Action struct {
	Verb   Verb   `json:"-"` // part of the path: POST /actions/<verb>
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"` // Enable, Disable: the server's name for one of its tools; "" = the server itself
	Call   string `json:"call,omitempty"` // Call.ID
	Aim    Aim    `json:"aim,omitempty"`  // the target when the operator chose the action; if it has been replaced since, Act returns an error that wraps ErrRestarted

	Session string `json:"session,omitempty"` // End: Session.ID
	Actor   string `json:"actor,omitempty"`   // Record: Actor.Name
	Seconds int    `json:"seconds,omitempty"` // Record: its duration; 0 = RecordTime
	Stop    bool   `json:"stop,omitempty"`    // Payloads: discard them now
}

// Verb names an action.
type Verb string

// Actions of operators.
const (
	Restart Verb = "restart" // replace the connections of Server; calls in progress may finish on the old ones
	Cancel  Verb = "cancel"  // end Call with an error
	End     Verb = "end"     // end Session, with its calls and subscriptions
	Drain   Verb = "drain"   // like SIGTERM: refuse new requests, let calls in progress finish, exit
	Reload  Verb = "reload"  // reload the configuration file
	Enable  Verb = "enable"  // enable Server or its Tool in the configuration file, and reload it
	Disable Verb = "disable" // disable Server or its Tool in the configuration file, and reload it
	Record  Verb = "record"  // record the messages of Actor, or of Server's pool, connections and the holders of its calls

	Payloads Verb = "payloads" // keep the payloads of Server's next calls
)

var (
	// ErrUnknownVerb is returned by Act, or wrapped, for an unknown verb, or one that this process does not support.
	ErrUnknownVerb = errors.New("no such action")
	// ErrNotThere is wrapped by the errors of Act and Item if the target does not exist, or no longer does.
	ErrNotThere = errors.New("not found")
	// ErrRestarted is wrapped by the error of Act if the target that the action's Aim identifies has been replaced.
	ErrRestarted = errors.New("has restarted since")
	// ErrAnotherGateway is the ErrRestarted for an action that was aimed at another process.
	ErrAnotherGateway = fmt.Errorf("the gateway %w; look at it again before you repeat the action", ErrRestarted)
	// ErrBadAction is wrapped by the error of Act for an action that is not complete, asks for too much, or has members that its verb does not take.
	ErrBadAction = errors.New("the action is invalid")
	// ErrForbidden is wrapped by the error of Act for an action that the configuration forbids.
	ErrForbidden = errors.New("the configuration forbids this action")
	// ErrAlready is wrapped by the error of Act if the target is already in the state that the action would set.
	ErrAlready = errors.New("already")
	// ErrNotEdited is wrapped by the error of Act if the configuration file cannot be changed.
	ErrNotEdited = errors.New("the configuration was not changed")
	// ErrNotReloaded is wrapped by the error of Act for a configuration that was rejected. The previous one stays in force.
	ErrNotReloaded = errors.New("the configuration was not reloaded")
)

// Items are the items of the catalog, in the order in which clients see them. It is immutable.
type Items struct {
	Version   uint64 `json:"version"` // Catalog.Version
	Tools     []Item `json:"tools"`
	Prompts   []Item `json:"prompts"`
	Resources []Item `json:"resources"`
	Templates []Item `json:"templates"`
}

// Item is a tool, prompt, resource or resource template. Its texts come from the server and may contain anything.
type Item struct {
	Server      string `json:"server"`
	Public      string `json:"public"`             // name, URI or template text for clients
	Original    string `json:"original"`           // name, URI or template text as the server defines it
	Other       string `json:"other,omitempty"`    // resources and templates: alternative URI for clients
	ReadOnly    bool   `json:"readOnly,omitempty"` // tools: the server sets readOnlyHint
	Internal    bool   `json:"internal,omitempty"` // an item of the gateway itself
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size"`          // bytes; -1 = unknown
	Raw         string `json:"raw,omitempty"` // the item's JSON for clients, truncated to MaxItemRaw bytes
}

// MaxItemRaw limits Item.Raw and Item.Description, in bytes, because a catalog of 10 000 items is sent in one response.
const MaxItemRaw = 4096

// Gateway is the part of Source that a running gateway implements.
type Gateway interface {
	Status(ctx context.Context) (*Snapshot, error)
	Items(ctx context.Context, known uint64) (*Items, error)
	Series(ctx context.Context, after int64) ([]Series, error)
	Item(ctx context.Context, kind, public string) ([]byte, error)
	Act(ctx context.Context, a Action) error
	Logins(ctx context.Context) ([]Login, error)
	Records(ctx context.Context, q RecordQuery) ([]Recording, error)
	Payloads(ctx context.Context, q PayloadQuery) ([]KeptPayloads, error)
}

// Local is the Source for a gateway in this process.
type Local struct {
	Gateway
	Service  *Service // nil = the gateway is not a service
	Counters *Metrics
	Log      *Events         // nil = not stored
	Changes  *CatalogChanges // nil = not stored
	Streams  *Streams        // shared by all streams; nil = each stream takes surveys of its own
	Drain    func()          // drains the gateway and ends the process; nil = not supported
	Keys     func() []User   // the users with keys and what they use; nil = clients are not authenticated
	Perform  UseFunc         // performs calls for the console; nil = not supported
	Reply    AnswerFunc      // answers questions of these calls; nil = there are none

	// AskNode asks another node of the cluster about its Activity. nil = not supported.
	AskNode func(ctx context.Context, node string) (Activity, error)

	// Reload reloads the configuration and returns when it is in force, or an error. nil = not supported.
	Reload func(ctx context.Context) error

	// Switch performs Enable and Disable, and records them in the audit log. nil = not supported.
	Switch func(ctx context.Context, a Action) error

	// Known returns a text without known secrets. It is applied to all results except those of Events, Lines, Series and
	// CatalogChanges. Log has a Known of its own. nil = unchanged.
	Known func(text string) string
}

// Status implements Source.
func (l Local) Status(ctx context.Context) (*Snapshot, error) {
	s, err := l.Gateway.Status(ctx)
	if s != nil && l.Service != nil {
		copied := *s
		copied.Service = l.Service
		s = &copied
	}
	return without(s, l.Known).inOrder(), err
}

// Items implements Source.
func (l Local) Items(ctx context.Context, known uint64) (*Items, error) {
	items, err := l.Gateway.Items(ctx, known)
	return without(items, l.Known), err
}

// Shown returns a page of the admin socket without known secrets.
func (l Local) Shown(page []byte) []byte {
	if l.Known == nil {
		return page
	}
	return []byte(l.Known(string(page)))
}

// Act implements Source.
func (l Local) Act(ctx context.Context, a Action) error {
	defer l.Streams.hurry()
	return l.shownError(l.act(ctx, a))
}

func (l Local) act(ctx context.Context, a Action) error {
	if slices.Contains([]Verb{Drain, Reload, Enable, Disable}, a.Verb) {
		if err := l.refusal(ctx, a); err != nil {
			_ = l.Gateway.Act(ctx, a) // refuses the action too, and records that
			return err
		}
	}
	switch {
	case a.Verb == Drain && l.Drain != nil:
		l.Drain()
		return nil
	case a.Verb == Reload && l.Reload != nil:
		return l.Reload(ctx)
	case l.Switch != nil && (a.Verb == Enable || a.Verb == Disable):
		return l.Switch(ctx, a)
	case a.Verb == Drain, a.Verb == Reload:
		return ErrUnknownVerb
	}
	return l.Gateway.Act(ctx, a)
}

// refusal returns ErrAnotherGateway if a was aimed at another process than this one, or else the error of Status or a.Check.
func (l Local) refusal(ctx context.Context, a Action) error {
	if a.Aim == "" {
		return a.Check()
	}
	s, err := l.Gateway.Status(ctx)
	if err == nil && !a.Aim.IsOf(s.Started) {
		return ErrAnotherGateway
	}
	return cmp.Or(err, a.Check())
}

// Events implements Source.
func (l Local) Events(_ context.Context, after uint64) ([]Event, error) {
	if l.Log == nil {
		return nil, nil
	}
	return l.Log.After(after), nil
}

// CatalogChanges returns the stored changes to the catalog, or nil.
func (l Local) CatalogChanges() *CatalogChanges { return l.Changes }

// Lines implements Source.
func (l Local) Lines(_ context.Context, server string, after uint64) ([]Event, error) {
	if l.Log == nil {
		return nil, nil
	}
	return l.Log.Lines(server, after), nil
}

// Finished implements Source.
func (l Local) Finished(_ context.Context, server string, after uint64) ([]FinishedCall, error) {
	return without(l.Counters.Finished(server, after), l.Known), nil
}

// Metrics implements Source: the counters, then the gauges of a Snapshot. If there is no Snapshot, it returns the counters alone:
// scrapes must work when the gateway hangs.
func (l Local) Metrics(ctx context.Context) (string, error) {
	var b strings.Builder
	if err := l.Counters.Write(&b); err != nil {
		return "", err
	}
	if s, err := l.Status(ctx); err == nil {
		if err := WriteSnapshot(&b, s); err != nil {
			return "", err
		}
	}
	if l.Known != nil {
		return l.Known(b.String()), nil
	}
	return b.String(), nil
}
