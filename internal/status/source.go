package status

import (
	"context"
	"errors"
	"strings"
)

// Source is all that a console knows of a gateway, be it in the same process or behind the admin socket. Its methods
// may be called from many goroutines at once and return when ctx ends. Nobody writes to what they return.
type Source interface {
	Status(ctx context.Context) (*Snapshot, error)

	// Items returns what clients are offered; nil when that is still the catalog of version known (0 = none is known).
	Items(ctx context.Context, known uint64) (*Items, error)

	// Events returns what happened after the event of that number, oldest first; 0 = all that is remembered.
	// It does not wait for something to happen.
	Events(ctx context.Context, after uint64) ([]Event, error)

	// Lines returns what a server wrote and what the log says of it, as Events.Lines does.
	Lines(ctx context.Context, server string, after uint64) ([]Event, error)

	// Finished returns calls that have ended, as Metrics.Finished does.
	Finished(ctx context.Context, server string, after uint64) ([]FinishedCall, error)

	// Metrics returns the page of /metrics.
	Metrics(ctx context.Context) (string, error)

	// Act does what an operator asks for. It returns when it has begun, not when it is done.
	Act(ctx context.Context, a Action) error
}

// Action is an operator's wish.
type Action struct {
	Verb   Verb   `json:"-"` // in the path: POST /actions/<verb>
	Server string `json:"server,omitempty"`
	Call   string `json:"call,omitempty"` // Call.ID
}

// Verb names an action.
type Verb string

// The actions that people may ask for.
const (
	Restart Verb = "restart" // replace the connections of Server; running calls may finish on the old ones
	Cancel  Verb = "cancel"  // end Call with an error
	Drain   Verb = "drain"   // as SIGTERM: refuse new work, let running calls finish, end
	Reload  Verb = "reload"  // read the configuration file again; unlike the others it is done when Act returns
)

var (
	// ErrUnknownVerb is returned by Act for a verb that is none of the above.
	ErrUnknownVerb = errors.New("no such action")
	// ErrNotThere is returned by Act when what it is about is not, or no longer, there.
	ErrNotThere = errors.New("not there")
	// ErrNotReloaded is returned by Act for a configuration that could not be put in force: the one before it still is.
	ErrNotReloaded = errors.New("the configuration is not reloaded")
)

// Items is what clients are offered, by kind in the order in which they see it. Immutable.
type Items struct {
	Version   uint64 `json:"version"` // Catalog.Version
	Tools     []Item `json:"tools"`
	Prompts   []Item `json:"prompts"`
	Resources []Item `json:"resources"`
	Templates []Item `json:"templates"`
}

// Item is a tool, prompt, resource or resource template. Its texts are the server's: they may hold anything.
type Item struct {
	Server      string `json:"server"`
	Public      string `json:"public"`             // name, URI or template text that clients see
	Original    string `json:"original"`           // the server's own
	Other       string `json:"other,omitempty"`    // of resources and templates: another URI that clients may use
	ReadOnly    bool   `json:"readOnly,omitempty"` // of tools: their server says that they only read
	Internal    bool   `json:"internal,omitempty"` // it is one of the gateway's own
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size"`          // bytes; -1 = the server does not say
	Raw         string `json:"raw,omitempty"` // the item's JSON as clients get it, cut at MaxItemRaw bytes
}

// MaxItemRaw bounds Item.Raw and Item.Description, in bytes: a catalog of 10 000 items is told in one piece.
const MaxItemRaw = 4096

// Gateway is what a running gateway tells of itself.
type Gateway interface {
	Status(ctx context.Context) (*Snapshot, error)
	Items(ctx context.Context, known uint64) (*Items, error)
	Act(ctx context.Context, a Action) error
}

// Local is the Source of a gateway in this process.
type Local struct {
	Gateway
	Counters *Metrics
	Log      *Events         // nil = nothing is remembered
	Changes  *CatalogChanges // nil = nothing is remembered
	Drain    func()          // ends the process after a drain; nil = that cannot be asked for here

	// Reload reads the configuration again and returns when it is in force; its error says why it is not. nil as with Drain.
	Reload func(ctx context.Context) error

	// Known is a text without what is known to be secret; what is told goes through it. nil = as it is.
	Known func(text string) string
}

// Status implements Source.
func (l Local) Status(ctx context.Context) (*Snapshot, error) {
	s, err := l.Gateway.Status(ctx)
	return without(s, l.Known), err
}

// Items implements Source.
func (l Local) Items(ctx context.Context, known uint64) (*Items, error) {
	items, err := l.Gateway.Items(ctx, known)
	return without(items, l.Known), err
}

// Shown is what the admin socket shows of a page.
func (l Local) Shown(page []byte) []byte {
	if l.Known == nil {
		return page
	}
	return []byte(l.Known(string(page)))
}

// Act implements Source.
func (l Local) Act(ctx context.Context, a Action) error {
	switch {
	case a.Verb == Drain && l.Drain != nil:
		l.Drain()
		return nil
	case a.Verb == Reload && l.Reload != nil:
		return l.Reload(ctx)
	case a.Verb == Drain, a.Verb == Reload:
		return ErrUnknownVerb
	}
	return l.Gateway.Act(ctx, a)
}

// Events implements Source.
func (l Local) Events(_ context.Context, after uint64) ([]Event, error) {
	if l.Log == nil {
		return nil, nil
	}
	return l.Log.After(after), nil
}

// CatalogChanges returns what is remembered of the catalog's changes; nil = nothing.
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

// Metrics implements Source: the counters, then the states of a fresh Snapshot. Without a Snapshot the counters alone:
// a scrape must work most of all when the gateway does not.
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
