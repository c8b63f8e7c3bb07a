package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
)

// statusTimeout limits the wait for the Source, except for streams of events and uses.
const statusTimeout = 5 * time.Second

// Source provides the gateway's status. It is safe for concurrent use, and returns when ctx ends. The returned Snapshot is not
// modified afterward.
type Source interface {
	Status(ctx context.Context) (*status.Snapshot, error)
}

// Public returns the handlers of the routes that every listener serves, as a function of the path. For other paths, the
// function returns nil.
func Public(src Source, m *status.Metrics) func(path string) http.Handler {
	routes := map[string]http.Handler{
		"/healthz": get(healthz),
		"/readyz":  get(readyz(src, true)),
		"/metrics": get(forViewers(metricsPage(src, m))),
	}
	return func(path string) http.Handler { return routes[path] }
}

// private returns the handler of the admin socket. dial connects to other nodes of the cluster; nil = the gateway runs alone.
func private(src status.Source, user status.UseFunc, dial DialNode, more ...Route) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", get(healthz))
	mux.Handle("/readyz", get(readyz(src, false)))
	mux.Handle("/metrics", get(metricsz(src)))
	mux.Handle("/statusz", get(statusz(src)))
	mux.Handle("/serverz", get(part(src, func(s *status.Snapshot) any { return s.Servers })))
	mux.Handle("/backendz", get(part(src, func(s *status.Snapshot) any { return s.Backends })))
	mux.Handle("/sessionz", get(part(src, func(s *status.Snapshot) any { return s.Sessions })))
	mux.Handle("/callz", get(part(src, func(s *status.Snapshot) any { return s.Calls })))
	mux.Handle("/subscriptionz", get(part(src, func(s *status.Snapshot) any { return s.Subscriptions })))
	mux.Handle("/actorz", get(part(src, func(s *status.Snapshot) any { return s.Actors })))
	mux.Handle("/catalogz", get(catalogz(src)))
	mux.Handle("/eventz", get(eventz(src)))
	mux.Handle("/finishedz", get(finishedz(src)))
	mux.Handle("/logz", get(linesz(src)))
	mux.Handle("/userz", get(usersz(src)))
	mux.Handle("/loginz", get(listed(src.Logins)))
	mux.Handle("/denialz", get(listed(src.Denials)))
	mux.Handle("/nodez", get(listed(src.Nodes)))
	mux.Handle("/activityz", get(part(src, func(s *status.Snapshot) any { return status.ActivityOf(s) })))
	mux.Handle("/secondz", get(secondz(src)))
	mux.Handle("/itemz", get(itemz(src)))
	mux.Handle("/recordz", get(recordz(src)))
	mux.Handle("/payloadz", get(payloadz(src)))
	mux.Handle("POST /actions/{verb}", act(src))
	mux.Handle("POST /actions/answer", answerQuestion(src))
	for verb := range useExamples {
		mux.Handle("POST /actions/"+verb, use(src, user, verb))
	}
	for _, route := range more {
		mux.Handle(route.Pattern, route.Handler)
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return forNodes(shown(src, refuseReadOnly(mux)), dial)
}

// get restricts a handler to GET and HEAD.
func get(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next(w, r)
	})
}

// views reports whether the request's principal may see all servers, including those that its roles hide: it has at
// least AdminView. All principals have it if there are no roles or the policy only reports.
func views(r *http.Request) bool {
	who := identity.From(r.Context())
	return who != nil && who.Admin >= identity.AdminView
}

// forViewers restricts a handler to principals that may see all servers.
func forViewers(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !views(r) {
			where := "bound with local: true"
			if who := identity.From(r.Context()); who != nil && who.ID != identity.LocalID {
				where = "of the key " + who.Name
			}
			http.Error(w, "error: this page names all servers and requires a role with admin: view\nhint: add admin: view to a role "+where, http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// healthz answers 200 whenever the process is alive and its listener works. It does not contact the gateway's actors.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// readiness is the body of /readyz.
type readiness struct {
	Ready    bool     `json:"ready"`
	Draining bool     `json:"draining,omitempty"`
	Waiting  []string `json:"waiting,omitempty"` // eager servers that have neither synced nor failed yet
	Failed   []string `json:"failed,omitempty"`  // eager servers whose first attempt failed and that are not connected yet
}

// readyz answers 200 once every eager server is synced, cached, or has failed its first attempt. It answers 503 before
// that, while draining, and if the Source returns no status. A public listener includes names of servers only for
// principals that may see all servers.
func readyz(src Source, public bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, ok := ask(w, r, src)
		if !ok {
			return
		}
		body := readiness{s.Ready && !s.Draining, s.Draining, s.Waiting, s.Failed}
		if public && !views(r) {
			body.Waiting, body.Failed = nil, nil
		}
		code := http.StatusOK
		if !body.Ready {
			code = http.StatusServiceUnavailable
		}
		writeJSON(w, code, body, false)
	}
}

// part serves a part of the Snapshot; ?pretty indents it.
func part(src Source, of func(*status.Snapshot) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s, ok := ask(w, r, src); ok {
			writeJSON(w, http.StatusOK, of(s), r.URL.Query().Has("pretty"))
		}
	}
}

// metricsPage serves the counters, then the gauges of the Snapshot. If there is no Snapshot, it serves the counters alone:
// scrapes must work when the gateway hangs.
func metricsPage(src Source, m *status.Metrics) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		s, err := src.Status(ctx)
		if err != nil {
			s = nil
		}
		w.Header().Set("Vary", "Accept")
		if wantsOpenMetrics(r.Header) {
			w.Header().Set("Content-Type", status.OpenMetricsText)
			_ = m.WriteOpenMetrics(w, s)
			return
		}
		w.Header().Set("Content-Type", status.PrometheusText)
		if m.Write(w) == nil && s != nil {
			_ = status.WriteSnapshot(w, s)
		}
	}
}

// ask returns the current Snapshot. If there is none, it responds with 503 and returns false.
func ask(w http.ResponseWriter, r *http.Request, src Source) (*status.Snapshot, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	s, err := src.Status(ctx)
	if err != nil {
		http.Error(w, "no status: "+err.Error(), http.StatusServiceUnavailable)
		return nil, false
	}
	return s, true
}

func writeJSON(w http.ResponseWriter, code int, body any, pretty bool) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if pretty {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}
