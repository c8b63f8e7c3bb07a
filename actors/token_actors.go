package actors

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/actors/token"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/oauth"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/ssrf"
)

// logins is shared by the token actors. It holds the guard for URLs that servers name, and the logins that the state file
// remembers. Steps must not use it.
type logins struct {
	guard   *ssrf.Guard
	budget  token.Budget
	shared  *sharedLogins // nil = this gateway shares no logins
	spawned atomic.Uint64 // token actors spawned so far

	mu    sync.Mutex
	known map[string]message.Token // by the key in the store; at most message.MaxTokens
}

// newLogins returns the logins of a gateway. The list allow has the internal hosts that URLs named by servers may point to.
func newLogins(allow []string) (*logins, error) {
	guard, err := ssrf.New(ssrf.Options{Allow: allow, Proxy: ssrf.Environment})
	if err != nil {
		return nil, err
	}
	return &logins{guard: guard, known: map[string]message.Token{}}, nil
}

// remember stores a token under a key. A nil token removes the key.
func (l *logins) remember(key string, value message.Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if value == nil {
		delete(l.known, key)
	} else if _, has := l.known[key]; has || len(l.known) < message.MaxTokens {
		l.known[key] = value
	}
}

func (l *logins) recall(key string) message.Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[key]
}

// ofHolders returns the remembered logins of the holders in who.
func (l *logins) ofHolders(who map[string]bool) []message.LoginKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := []message.LoginKey{}
	for name := range l.known {
		if entry, lane, _ := strings.Cut(name, " "); lane != "" && who[lane] {
			keys = append(keys, message.LoginKey{Entry: entry, Lane: lane})
		}
	}
	slices.SortFunc(keys, func(a, b message.LoginKey) int { return strings.Compare(loginName(a), loginName(b)) })
	return keys
}

// inherited returns the holders of remembered logins that share their ID with an existing principal but had another credential.
// The map newest has the existing principals by holder.
func (l *logins) inherited(newest map[string]*identity.Principal) map[string]bool {
	names := make(map[string]bool, len(newest))
	for _, who := range newest {
		names[who.ID] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := map[string]bool{}
	for name := range l.known {
		if _, lane, _ := strings.Cut(name, " "); newest[lane] == nil && names[identity.IDIn(lane)] {
			old[lane] = true
		}
	}
	return old
}

// loginName returns the key of a login in the store. Names of entries contain no spaces.
func loginName(key message.LoginKey) string { return key.Entry + " " + key.Lane }

// openLogin returns a function that spawns a login's token actor as a child of its pool. The token actor sends its messages to
// the store through the gateway.
func (l *logins) openLogin(gateway kernel.Reference, known *secret.Redactor, recorded func(who, entry string, err error), log *slog.Logger) pool.Logins {
	return func(self kernel.Self, entry config.Server, key message.LoginKey) pool.Login {
		auth := entry.Auth
		name := loginName(key)
		o := token.Options{
			Login: key, Key: name, Stored: l.recall(name), Store: gateway, Owner: self.Reference(), Budget: &l.budget,
			ClientCredentials: auth.UsesClientCredentials(key.Lane),
			Agent: &oauth.Agent{
				Server: entry.URLs[0], Client: l.guard.ClientFor(entry.URLs[0]), Now: time.Now,
				Config: oauth.Config{ClientID: auth.ClientID, Secret: auth.ClientSecret, MetadataURL: auth.ClientMetadataURL, Scopes: auth.Scopes, Issuer: auth.Issuer},
			},
			Secrets: func(now, before []string) {
				known.Add(before...) // servers may still know and repeat earlier secrets; the redactor forgets them eventually
				known.Replace("login "+name, now...)
			},
			Unawaited: func(who string, err error) { recorded(who, entry.Name, err) },
			Life:      l.spawned.Add(1), Seed: seed(), Log: log,
		}
		if l.shared.shares(&entry, key.Lane) {
			o.Shared, o.NewTag = l.shared.store(key), l.shared.newTag
		}
		h := token.Spawn(self, o)
		return pool.Login{Actor: h.Actor(), Credentials: h}
	}
}
