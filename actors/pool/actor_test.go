package pool

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"goblin-actor/actors/backend"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// livePool is a pool's actor with probes in place of the gateway, the registry, the holder of calls and the login.
type livePool struct {
	t                               *testing.T
	system                          *kernel.System
	pool                            kernel.Reference
	gateway, registry, holder, auth actortest.Probe
	opened                          []string // names of the entries that were opened
}

// startPool starts a pool whose server refuses every connection with err, or is ready if err is nil. The function
// change sets further options.
func startPool(t *testing.T, err error, change func(*Options)) *livePool {
	t.Helper()
	r := &livePool{t: t, system: kernel.New(kernel.Options{})}
	r.gateway, r.registry = actortest.NewProbe(r.system, "gateway"), actortest.NewProbe(r.system, "registry")
	r.holder, r.auth = actortest.NewProbe(r.system, "holder"), actortest.NewProbe(r.system, "auth")
	fake := &actortest.Server{Tools: []string{"add"}, Refuse: err}
	o := Options{
		Server: config.Server{Name: "fake", URLs: []string{"http://127.0.0.1:1/"}, Replicas: 1, Protocol: "legacy", Isolation: "shared", Queue: queue, StartTimeout: queue.Timeout,
			Auth: config.ServerAuth{Type: "auto", As: "shared"}, Reconnect: config.Reconnect{Min: queue.Timeout, Max: queue.Timeout}},
		Registry: r.registry.Reference, Gateway: r.gateway.Reference, Store: r.gateway.Reference, Links: &backend.Links{}, Log: slog.New(slog.DiscardHandler),
		Open: func(server config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
			r.opened = append(r.opened, server.Name)
			return fake.Open, "http"
		},
		Logins: func(kernel.Self, config.Server, message.LoginKey) Login { return Login{Actor: r.auth.Reference} },
	}
	change(&o)
	r.pool = actortest.Child(r.system, func(self kernel.Self) kernel.Reference { return Spawn(self, o) })
	synctest.Wait()
	return r
}

// call sends a call of a client with these capabilities, and returns what its holder gets.
func (r *livePool) call(can message.CapabilitySet) []any {
	m := ask(1)
	m.Call.Holder = r.holder.Reference
	m.Request.Caller = &message.Caller{ClientKey: "c", Can: can}
	r.pool.Tell(m)
	synctest.Wait()
	return r.holder.Got()
}

// If the gateway has a login page and the client supports URL elicitation, the user is asked to open the page.
// Otherwise the call fails with an error that names the page, or the command if there is no page.
func TestLoginInstructions(t *testing.T) {
	const page = "http://gateway/login/fake"
	refused := &upstream.LoginError{Status: 401, Err: errors.New("no login yet")}
	for name, c := range map[string]struct {
		page string
		can  message.CapabilitySet
		want string
		asks bool
	}{
		"asked":              {page, message.CanURL, `"url":"` + page + `"`, true},
		"cannot be asked":    {page, 0, "log in at " + page, false},
		"no page":            {"", message.CanURL, "goblin-actor login fake", false},
		"neither of the two": {"", 0, "goblin-actor login fake", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := startPool(t, refused, func(o *Options) { o.LoginURL = func(message.LoginKey) string { return c.page } })
			defer actortest.Stop(t, r.system)
			got := r.call(c.can)
			if len(got) != 1 {
				t.Fatalf("%s: the holder got %v", name, got)
			}
			switch m := got[0].(type) {
			case message.ServerRequest:
				raw := string(m.Frame.Raw)
				if !c.asks || m.Frame.Method != protocol.MethodElicitationCreate || !strings.Contains(raw, c.want) || !strings.Contains(raw, "Log in to fake: server fake: no login yet") || !strings.Contains(raw, `"elicitationId":"`) {
					t.Errorf("%s: asked %s", name, raw)
				}
			case message.Failed:
				if c.asks || m.Fault.Name != protocol.NeedsLogin || m.Fault.LoginURL != c.page || !strings.HasSuffix(m.Fault.Message, c.want) {
					t.Errorf("%s: failed with %+v, want %q", name, m.Fault, c.want)
				}
			default:
				t.Errorf("%s: the holder got %T", name, m)
			}
		})
	}
}

// Requests to log in start the login's actor once. A requester that passes a channel gets the login's key. If the
// gateway does not log in to servers, the request is refused.
func TestRequestsReachTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := 0
		r := startPool(t, nil, func(o *Options) {
			login := o.Logins
			o.Logins = func(self kernel.Self, entry config.Server, key message.LoginKey) Login {
				started++
				return login(self, entry, key)
			}
		})
		defer actortest.Stop(t, r.system)
		for _, named := range []chan message.LoginKey{make(chan message.LoginKey, 1), nil} {
			r.pool.Tell(message.RequestLogin{Entry: "fake", Named: named, Begin: &message.BeginLogin{Reply: make(chan message.LoginStarted, 1)}})
			synctest.Wait()
			if named != nil && (len(named) != 1 || <-named != theLogin) {
				t.Error("the requester did not get the login's key")
			}
		}
		if n := len(actortest.Of[message.BeginLogin](r.auth)); n != 2 || started != 1 {
			t.Errorf("%d requests reached the login, which was started %d times; want 2 and 1", n, started)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := startPool(t, nil, func(o *Options) { o.Logins = nil })
		defer actortest.Stop(t, r.system)
		reply := make(chan message.LoginStarted, 1)
		r.pool.Tell(message.RequestLogin{Entry: "fake", Begin: &message.BeginLogin{Reply: reply}})
		synctest.Wait()
		if len(reply) != 1 || (<-reply).Err == nil {
			t.Error("a request was not refused although the gateway does not log in")
		}
	})
}

// A secret that the gateway knows is redacted from the reason why a call failed. Without a Redactor, the reason stays
// as it is.
func TestSecretsInReasons(t *testing.T) {
	for name, secrets := range map[string]*secret.Redactor{"known": new(secret.Redactor), "none": nil} {
		synctest.Test(t, func(t *testing.T) {
			if secrets != nil {
				secrets.Replace("test", "hunter2-hunter2")
			}
			r := startPool(t, errors.New("dial: password hunter2-hunter2 is wrong"), func(o *Options) { o.Secrets = secrets })
			defer actortest.Stop(t, r.system)
			failed, is := r.call(0)[0].(message.Failed)
			if !is || strings.Contains(failed.Fault.Message, "hunter2") != (secrets == nil) || !strings.Contains(failed.Fault.Message, "is wrong") {
				t.Errorf("%s: failed with %v", name, failed.Fault)
			}
		})
	}
}

// A misconfigured server is announced to the registry, but no connection to it is opened.
func TestMisconfiguredServerIsNotOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startPool(t, nil, func(o *Options) { o.Server.Fault = "not started" })
		defer actortest.Stop(t, r.system)
		if len(r.opened) != 0 {
			t.Errorf("a misconfigured server was opened: %v", r.opened)
		}
		rules := actortest.Of[message.SetServerRules](r.registry)
		if len(rules) != 1 || rules[0].Server.Life != 1 {
			t.Errorf("announced %+v, want the first life", rules)
		}
	})
}
