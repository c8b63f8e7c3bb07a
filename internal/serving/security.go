package serving

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/auth"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

// CredentialError reports a key file or certificate that cannot be used.
type CredentialError struct {
	err  error
	hint string
}

func (e *CredentialError) Error() string { return e.err.Error() }

func (e *CredentialError) Unwrap() error { return e.err }

// Hint returns what the user can do.
func (e *CredentialError) Hint() string { return e.hint }

const tlsHint = "set tls: {cert: …, key: …} to a certificate and its private key, both in PEM format"

// Security holds the authentication of clients and the certificate of the listeners. One goroutine changes it;
// listeners read it.
type Security struct {
	gate      *auth.Gate
	policy    *policy.Policy
	written   config.Policy // the configuration that policy was compiled from
	rates     policy.Rates  // request rates of principals
	listens   bool          // false: the only client is on stdin and needs no authentication
	Secure    bool          // listeners use TLS; fixed at the start
	pair      atomic.Pointer[tls.Certificate]
	node      nodeKeys                       // empty for a gateway that runs alone
	gateway   atomic.Pointer[actors.Gateway] // receives changes to principals; nil before Attach
	keys      string                         // the last configured key file
	digest    string                         // config.Config.Digest of the last configuration; "" = the gateway is not in a cluster
	publicURL atomic.Pointer[string]         // the configured publicUrl, for the login pages
	hangUp    func()                         // closes all connections; nil = there are none
	log       *slog.Logger
}

// NewSecurity reads the keys and the certificate. listens is false for a gateway on stdio, which needs neither.
func NewSecurity(cfg *config.Config, listens bool, log *slog.Logger) (*Security, error) {
	e := &Security{listens: listens, Secure: listens && cfg.TLS.On(), log: log}
	e.rates.Reported = func(principal string) {
		log.Info("policy would refuse a request: rate limit exceeded", "who", principal)
	}
	o := auth.Options{Log: log, Changed: e.changed, Added: e.came, Denied: e.denied}
	if cfg.Cluster.Present {
		o.Lost, o.Found = e.lost, e.found
	}
	e.gate = auth.NewGate(o)
	if err := e.loadPair(cfg); err != nil {
		return nil, &CredentialError{err, tlsHint}
	}
	if listens && cfg.Cluster.Present {
		e.node.name = cfg.Cluster.Node
		if err := e.node.load(cfg); err != nil {
			return nil, &CredentialError{err, nodeHint}
		}
	}
	if file, ok := errors.AsType[*auth.FileError](e.configure(cfg)); ok {
		return nil, &CredentialError{file, file.Hint}
	}
	return e, nil
}

// configure passes the configuration to the gate. A newly configured key file may be missing.
func (e *Security) configure(cfg *config.Config) error {
	e.publicURL.Store(&cfg.PublicURL)
	s := e.settingsOf(cfg)
	err := e.gate.Configure(s)
	if known := e.keys == s.Keys; err != nil && !known && errors.Is(err, fs.ErrNotExist) {
		e.log.Warn("there are no keys, so all clients are rejected; create one: goblin-actor key new NAME", "keys", s.Keys)
		err = nil
	}
	e.keys, e.digest = s.Keys, cfg.Digest
	e.tellFacts()
	return err
}

// Attach sets the gateway and passes the known principals to it. Without keys, or if they could not be read, it passes
// nothing, so that the stored data of principals is kept.
func (e *Security) Attach(g *actors.Gateway) {
	e.gate.Known(func(all, expired map[string]*identity.Principal) {
		if e.gateway.Store(g); len(all) > 0 {
			g.LoadPrincipals(all)
			g.LoadPrincipals(expired)
		}
	})
	e.tellFacts()
}

// OnNewKeys sets the function that closes all connections when a reload begins to require authentication.
func (e *Security) OnNewKeys(hangUp func()) { e.hangUp = hangUp }

// Close logs the pending summary of refusals and stops the timers. Requests are still admitted or refused.
func (e *Security) Close() { e.gate.Close() }

// Admission returns the gate, which admits or refuses requests.
func (e *Security) Admission() *auth.Gate { return e.gate }

// changed passes changed and removed principals to the gateway, once it is set.
func (e *Security) changed(principals map[string]*identity.Principal) {
	if g := e.gateway.Load(); g != nil {
		g.UpdatePrincipals(principals)
	}
}

// came passes new principals to the gateway.
func (e *Security) came(principals map[string]*identity.Principal) {
	if g := e.gateway.Load(); g != nil {
		g.AddPrincipals(principals)
	}
}

// settingsOf returns the gate's settings for a configuration.
func (e *Security) settingsOf(cfg *config.Config) auth.Settings {
	if !reflect.DeepEqual(cfg.Policy, e.written) { // an unchanged policy is not compiled again
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

// apply applies a configuration and reads its files. If a file cannot be read, its previous content stays in force and
// apply returns an error.
func (e *Security) apply(cfg *config.Config) error {
	if e.listens && cfg.TLS.On() != e.Secure {
		e.log.Warn("tls was added or removed; this takes effect at the next start")
	}
	open := !e.gate.Locked()
	err := errors.Join(e.configure(cfg), e.loadPair(cfg), e.node.load(cfg))
	if open && e.gate.Locked() && e.hangUp != nil {
		e.hangUp() // clients that have not authenticated must do so now
	}
	if err != nil {
		e.log.Error("keys or certificate cannot be loaded; the previous ones stay in force", "err", err)
	}
	return err
}

// loadPair reads the certificate and its key. An invalid pair changes nothing.
func (e *Security) loadPair(cfg *config.Config) error {
	if !e.Secure || !cfg.TLS.On() {
		return nil
	}
	key := cfg.Beside(cfg.TLS.Key)
	pair, err := tls.LoadX509KeyPair(cfg.Beside(cfg.TLS.Cert), key)
	if err != nil {
		return ofTLS(err)
	}
	if leaf := pair.Leaf; leaf != nil && time.Now().After(leaf.NotAfter) {
		e.log.Warn("the certificate has expired; clients will reject it", "cert", cfg.TLS.Cert, "until", leaf.NotAfter)
	}
	if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o044 != 0 && runtime.GOOS != "windows" {
		e.log.Warn("other users can read the private key; run chmod 600 "+key, "key", cfg.TLS.Key)
	}
	e.pair.Store(&pair)
	return nil
}

// TLS returns the configuration for TLS listeners, or nil without TLS.
func (e *Security) TLS() *tls.Config {
	if !e.Secure {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return e.pair.Load(), nil },
	}
}

// credentialFiles returns the files that apply reads.
func credentialFiles(cfg *config.Config, listens bool) (files []string) {
	if !listens {
		return nil
	}
	for _, file := range []string{cfg.Auth.Keys, cfg.TLS.Cert, cfg.TLS.Key, cfg.Cluster.TLS.Cert, cfg.Cluster.TLS.Key, cfg.Cluster.TLS.CA} {
		if file != "" {
			files = append(files, cfg.Beside(file))
		}
	}
	return files
}
