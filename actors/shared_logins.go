package actors

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// ErrRecordChanged is returned by LoginRecords.Put and Delete if the record has another revision.
var ErrRecordChanged = claim.ErrChanged

// LoginRecords are small values that all nodes of a cluster share. The methods are safe for concurrent use.
type LoginRecords interface {
	// Get returns the value and the revision of a record; 0 = it does not exist. It blocks for at most 10 s.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put stores a value if the record has the given revision, and returns the new one. Otherwise, the error is
	// ErrRecordChanged. After another error the value may be stored. It blocks for at most 10 s.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Delete removes a record that has the given revision.
	Delete(ctx context.Context, key string, revision uint64) error
	// Watch calls handle with each record whose key begins with the word prefix, and then with its changes, one at a time.
	Watch(prefix string, handle func(key string, value []byte, revision uint64, deleted bool)) (cancel func(), err error)
}

// loginPrefix is the first word of the keys of logins.
const loginPrefix = "login"

// sweepInterval is the time between two removals of the records of logins that have ended.
const sweepInterval = time.Hour

// sharedLogins keeps logins in the records of the cluster, sealed with its secrets.
type sharedLogins struct {
	records LoginRecords
	secrets *cluster.Secrets
	self    func() string // this node's incarnation
	log     *slog.Logger

	mu       sync.Mutex
	watching bool
	numbers  uint64
	handlers map[string]map[uint64]func(claim.Stored) // by key and number
	ended    map[string]endedLogin                    // by key
	swept    time.Time

	resealing resealing
}

// endedLogin is the record of a login that has ended.
type endedLogin struct {
	revision uint64
	at       time.Time
}

// newSharedLogins returns the logins that the nodes share, or nil if the cluster keeps no records.
func newSharedLogins(c *Cluster, log *slog.Logger) *sharedLogins {
	if c == nil || c.Logins == nil {
		return nil
	}
	s := &sharedLogins{
		records: c.Logins, secrets: c.Secrets, self: c.Members.Self, log: log,
		handlers: map[string]map[uint64]func(claim.Stored){}, ended: map[string]endedLogin{}, swept: time.Now(),
		resealing: resealing{first: c.Secrets.First(), places: map[string]struct{}{}, waiting: map[string]struct{}{}},
	}
	if c.Secrets.Several() { // the node may have started in the middle of a rotation
		s.startWatch()
	}
	return s
}

// shares reports whether the nodes share the login of an entry. Client credentials are not shared: each node obtains a token of its own.
func (s *sharedLogins) shares(entry *config.Server, lane string) bool {
	return s != nil && (entry.Run == config.RunEach || entry.Run == config.RunOne) && !entry.Auth.UsesClientCredentials(lane)
}

// ofHolders returns the logins that principals may have in records, with or without a copy on this node. s may be nil.
func (s *sharedLogins) ofHolders(servers []config.Server, who map[string]bool) (keys []message.LoginKey) {
	add := func(entry *config.Server) {
		entry = cmp.Or(entry.Away, entry)
		if !entry.LogsIn() || entry.Auth.As != "principal" {
			return
		}
		for holder := range who {
			if s.shares(entry, holder) {
				keys = append(keys, message.LoginKey{Entry: entry.Name, Lane: holder})
			}
		}
	}
	for i := range servers {
		if len(servers[i].Members) == 0 {
			add(&servers[i])
		}
		for j := range servers[i].Members {
			add(&servers[i].Members[j])
		}
	}
	return keys
}

// store returns the record of a login.
func (s *sharedLogins) store(key message.LoginKey) claim.Store { return &loginStore{s, placeOf(key)} }

// placeOf returns the key of the record of a login. It reveals neither the entry nor the principal.
func placeOf(key message.LoginKey) string {
	sum := sha256.Sum256([]byte(loginName(key)))
	return loginPrefix + "." + base64.RawURLEncoding.EncodeToString(sum[:])
}

// newTag returns a text that differs in all calls on all nodes.
func (s *sharedLogins) newTag() string { return s.self() + "." + rand.Text() }

// watch calls handle with the changes of a record until cancel is called.
func (s *sharedLogins) watch(place string, handle func(claim.Stored)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers++
	number := s.numbers
	if s.handlers[place] == nil {
		s.handlers[place] = map[uint64]func(claim.Stored){}
	}
	s.handlers[place][number] = handle
	s.startWatch()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.handlers[place], number); len(s.handlers[place]) == 0 {
			delete(s.handlers, place)
		}
	}
}

// startWatch watches all records, until the connection to the other nodes is closed. The caller must hold mu.
func (s *sharedLogins) startWatch() {
	if s.watching {
		return
	}
	s.watching = true
	if _, err := s.records.Watch(loginPrefix, s.saw); err != nil {
		s.watching = false
		s.log.Warn("the logins that the nodes share cannot be watched", "err", err)
	}
}

// saw handles a change of a record.
func (s *sharedLogins) saw(place string, value []byte, revision uint64, deleted bool) {
	found := claim.Stored{Order: revision}
	if !deleted {
		found = s.open(place, value, revision)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found.Ended > 0 {
		s.ended[place] = endedLogin{revision, time.Unix(found.Ended, 0)}
	} else {
		delete(s.ended, place)
	}
	s.note(place, deleted || found.Ended > 0, value)
	for _, number := range slices.Sorted(maps.Keys(s.handlers[place])) {
		s.handlers[place][number](found)
	}
	if now := time.Now(); now.Sub(s.swept) > sweepInterval {
		s.swept = now
		s.sweep(now)
	}
}

// sweep removes the records of logins that have ended more than claim.KeepEnded ago. The caller must hold mu.
func (s *sharedLogins) sweep(now time.Time) {
	over := map[string]uint64{}
	for place, e := range s.ended {
		if now.Sub(e.at) > claim.KeepEnded {
			over[place] = e.revision
			delete(s.ended, place)
		}
	}
	if len(over) == 0 {
		return
	}
	go func() {
		for place, revision := range over {
			_ = s.records.Delete(context.Background(), place, revision) // after an error, the next start of a node removes it
		}
	}()
}

// open opens a record.
func (s *sharedLogins) open(place string, value []byte, revision uint64) claim.Stored {
	found := claim.Stored{Revision: revision}
	plain, err := s.secrets.OpenLogin(place, value)
	if err == nil {
		found.Record, err = claim.Decode(plain)
	}
	found.Invalid = err
	return found
}

// loginStore is the record of one login. It implements claim.Store.
type loginStore struct {
	shared *sharedLogins
	place  string
}

// Get implements claim.Store.
func (l *loginStore) Get(ctx context.Context) (claim.Stored, error) {
	value, revision, err := l.shared.records.Get(ctx, l.place)
	if err != nil || revision == 0 {
		return claim.Stored{}, err
	}
	return l.shared.open(l.place, value, revision), nil
}

// Put implements claim.Store.
func (l *loginStore) Put(ctx context.Context, r claim.Record, revision uint64) (uint64, error) {
	plain, err := r.Encode()
	if err != nil {
		return 0, err
	}
	revision, err = l.shared.records.Put(ctx, l.place, l.shared.secrets.SealLogin(l.shared.self(), l.place, plain), revision)
	if errors.Is(err, ErrRecordChanged) {
		return 0, claim.ErrChanged
	}
	return revision, err
}

// Watch implements claim.Store.
func (l *loginStore) Watch(handle func(claim.Stored)) (cancel func()) {
	return l.shared.watch(l.place, handle)
}
