package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/auth"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

const tlsHint = "tls: {cert: …, key: …} names a certificate and its private key, both PEM"

// edge is what stands between clients and the gateway: who is let in, and the certificate that they see. One goroutine changes it;
// listeners read it.
type edge struct {
	gate      *auth.Gate
	policy    *policy.Policy
	written   config.Policy // what that was made of
	rates     policy.Rates  // of those who are let in
	listens   bool          // false: there is one client, on stdin, who is asked nothing
	secure    bool          // listeners speak TLS; that stays as it was at the start
	pair      atomic.Pointer[tls.Certificate]
	gateway   atomic.Pointer[actors.Gateway] // is told whose keys have changed; nil = there is none yet
	keys      string                         // the file that was named last
	publicURL atomic.Pointer[string]         // the newest, for the login pages
	hangUp    func()                         // ends all connections; nil = there are none
	log       *slog.Logger
}

// newEdge reads keys and certificate, if the gateway listens.
func newEdge(cfg *config.Config, listens bool, log *slog.Logger) (*edge, error) {
	e := &edge{listens: listens, secure: listens && cfg.TLS.On(), log: log}
	e.rates.Reported = func(principal string) {
		log.Info("policy would refuse: too many requests", "who", principal)
	}
	e.gate = auth.NewGate(auth.Options{Log: log, Changed: e.changed, Came: e.came, Denied: e.denied})
	if err := e.loadPair(cfg); err != nil {
		return nil, &exitError{exitConfig, err, tlsHint}
	}
	if file, ok := errors.AsType[*auth.FileError](e.configure(cfg)); ok {
		return nil, &exitError{exitConfig, file, file.Hint}
	}
	return e, nil
}

// configure tells the gate what the configuration says. A key file that is named for the first time need not be there yet.
func (e *edge) configure(cfg *config.Config) error {
	e.publicURL.Store(&cfg.PublicURL)
	s := e.settingsOf(cfg)
	err := e.gate.Configure(s)
	if known := e.keys == s.Keys; err != nil && !known && errors.Is(err, fs.ErrNotExist) {
		e.log.Warn("nobody is let in before there is a key: goblin-actor key new NAME", "keys", s.Keys)
		err = nil
	}
	e.keys = s.Keys
	return err
}

// begin makes that the gateway, which is told who there is. Where there are no keys, or none that could be read, nobody is let in, and nothing is said:
// what was kept for those who had some stays.
func (e *edge) begin(g *actors.Gateway) {
	e.gate.Known(func(all, expired map[string]*identity.Principal) {
		if e.gateway.Store(g); len(all) > 0 {
			g.KnownPrincipals(all)
			g.KnownPrincipals(expired)
		}
	})
}

// changed tells the gateway, once there is one, of principals that are others now, or nobody any more.
func (e *edge) changed(principals map[string]*identity.Principal) {
	if g := e.gateway.Load(); g != nil {
		g.Principals(principals)
	}
}

// came tells it of new ones.
func (e *edge) came(principals map[string]*identity.Principal) {
	if g := e.gateway.Load(); g != nil {
		g.NewPrincipals(principals)
	}
}

// denied tells the audit log.
func (e *edge) denied(d auth.Denial) {
	g := e.gateway.Load()
	if g == nil {
		return
	}
	r := audit.Record{Event: audit.EventDenied, Peer: d.From(), Item: d.Path, Decision: audit.Deny, Outcome: d.Error, Detail: d.Reason}
	if d.Who != nil {
		r.Who, r.Via = d.Who.ID, d.Who.Via
	}
	g.Audit().Record(r)
}

// settingsOf is what the configuration says about who is let in.
func (e *edge) settingsOf(cfg *config.Config) auth.Settings {
	if !reflect.DeepEqual(cfg.Policy, e.written) { // who only saves the file again, or makes a key, gives nobody other rights
		e.policy, e.written = policy.Compile(cfg.Policy), cfg.Policy
	}
	p := e.policy
	e.rates.Use(p)
	s := auth.Settings{
		Rights: p.Rights, Policy: p, Admin: p.Admin, Rates: &e.rates,
		Proxies:  cfg.Proxies(),
		MaxCalls: cfg.Limits.MaxInFlightPerPrincipal, MaxStreams: cfg.Limits.MaxSessions,
	}
	if e.listens {
		s.Keys = cfg.Beside(cfg.Auth.Keys)
	}
	return s
}

// apply puts a new configuration in force, and reads its files again. What cannot be read stays as it was; the error says why.
func (e *edge) apply(cfg *config.Config) error {
	if e.listens && cfg.TLS.On() != e.secure {
		e.log.Warn("tls has come or gone; that takes effect at the next start")
	}
	open := !e.gate.Locked()
	err := errors.Join(e.configure(cfg), e.loadPair(cfg))
	if open && e.gate.Locked() && e.hangUp != nil {
		e.hangUp() // whoever came without being asked is asked now
	}
	if err != nil {
		e.log.Error("keys or certificate are not taken over: those before stay in force", "err", err)
	}
	return err
}

// checkEdgeFiles says what is wrong with the files beside the configuration without which the gateway does not start. Those that are missing
// are among the findings of the configuration.
func checkEdgeFiles(cfg *config.Config) error {
	if cfg.Auth.On() {
		if _, err := auth.Load(cfg.Beside(cfg.Auth.Keys)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			hint := ""
			if file, ok := errors.AsType[*auth.FileError](err); ok {
				hint = file.Hint
			}
			return &exitError{exitConfig, err, hint}
		}
	}
	if cfg.TLS.On() {
		if _, err := tls.LoadX509KeyPair(cfg.Beside(cfg.TLS.Cert), cfg.Beside(cfg.TLS.Key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &exitError{exitConfig, ofTLS(err), tlsHint}
		}
	}
	return nil
}

// metricsAreSeen reports whether there is anybody whom /metrics is shown to: a policy shows it only to roles that say so, which is easily
// forgotten until a scrape fails.
func metricsAreSeen(cfg *config.Config) bool {
	p := policy.Compile(cfg.Policy)
	if !cfg.Auth.On() {
		return p.Admin(p.Rights(nil, "", true), true) >= identity.AdminView
	}
	keys, err := auth.Load(cfg.Beside(cfg.Auth.Keys))
	return err != nil || p == nil || slices.ContainsFunc(keys, func(k auth.Key) bool {
		return p.Admin(p.Rights(k.Roles, k.Name, false), false) >= identity.AdminView
	})
}

// unseenMetrics says that there is nobody.
func unseenMetrics(cfg *config.Config) *config.Finding {
	f := &config.Finding{File: cfg.Path, Path: "policy", Message: "nobody may see /metrics: that takes a role that says admin: view",
		Hint: "write admin: view into a role that is bound with local: true, unless the admin socket's /metrics is enough"}
	if cfg.Auth.On() {
		f.Hint = "write admin: view into a role, and have a key with it scrape: goblin-actor key new prometheus --role ROLE"
	}
	return f
}

// ofTLS says that an error is of the certificate or its key, as some do by themselves.
func ofTLS(err error) error {
	if strings.HasPrefix(err.Error(), "tls: ") {
		return err
	}
	return fmt.Errorf("tls: %w", err)
}

// loadPair reads the certificate and its key; a pair that does not fit changes nothing.
func (e *edge) loadPair(cfg *config.Config) error {
	if !e.secure || !cfg.TLS.On() {
		return nil
	}
	key := cfg.Beside(cfg.TLS.Key)
	pair, err := tls.LoadX509KeyPair(cfg.Beside(cfg.TLS.Cert), key)
	if err != nil {
		return ofTLS(err)
	}
	if leaf := pair.Leaf; leaf != nil && time.Now().After(leaf.NotAfter) {
		e.log.Warn("the certificate has expired; clients will not believe it", "cert", cfg.TLS.Cert, "until", leaf.NotAfter)
	}
	if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o044 != 0 && runtime.GOOS != "windows" {
		e.log.Warn("others may read the private key: chmod 600 "+key, "key", cfg.TLS.Key)
	}
	e.pair.Store(&pair)
	return nil
}

// tls is how listeners speak TLS; nil = they do not.
func (e *edge) tls() *tls.Config {
	if !e.secure {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return e.pair.Load(), nil },
	}
}

// credentialFiles are the files that apply reads, besides the configuration.
func credentialFiles(cfg *config.Config, listens bool) (files []string) {
	if !listens {
		return nil
	}
	for _, file := range []string{cfg.Auth.Keys, cfg.TLS.Cert, cfg.TLS.Key} {
		if file != "" {
			files = append(files, cfg.Beside(file))
		}
	}
	return files
}
