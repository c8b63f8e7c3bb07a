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
	"goblin-actor/internal/audit"
	"goblin-actor/internal/auth"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

// CredentialError says which file of keys or certificates cannot be used.
type CredentialError struct {
	err  error
	hint string
}

func (e *CredentialError) Error() string { return e.err.Error() }

func (e *CredentialError) Unwrap() error { return e.err }

// Hint says what to do.
func (e *CredentialError) Hint() string { return e.hint }

const tlsHint = "tls: {cert: …, key: …} names a certificate and its private key, both PEM"

// Security is what stands between clients and the gateway: who is let in, and the certificate that they see. One goroutine changes it;
// listeners read it.
type Security struct {
	gate      *auth.Gate
	policy    *policy.Policy
	written   config.Policy // what that was made of
	rates     policy.Rates  // of those who are let in
	listens   bool          // false: there is one client, on stdin, who is asked nothing
	Secure    bool          // listeners speak TLS; that stays as it was at the start
	pair      atomic.Pointer[tls.Certificate]
	gateway   atomic.Pointer[actors.Gateway] // is told whose keys have changed; nil = there is none yet
	keys      string                         // the file that was named last
	publicURL atomic.Pointer[string]         // the newest, for the login pages
	hangUp    func()                         // ends all connections; nil = there are none
	log       *slog.Logger
}

// NewSecurity reads keys and certificate, if the gateway listens.
func NewSecurity(cfg *config.Config, listens bool, log *slog.Logger) (*Security, error) {
	e := &Security{listens: listens, Secure: listens && cfg.TLS.On(), log: log}
	e.rates.Reported = func(principal string) {
		log.Info("policy would refuse: too many requests", "who", principal)
	}
	e.gate = auth.NewGate(auth.Options{Log: log, Changed: e.changed, Added: e.came, Denied: e.denied})
	if err := e.loadPair(cfg); err != nil {
		return nil, &CredentialError{err, tlsHint}
	}
	if file, ok := errors.AsType[*auth.FileError](e.configure(cfg)); ok {
		return nil, &CredentialError{file, file.Hint}
	}
	return e, nil
}

// configure tells the gate what the configuration says. A key file that is named for the first time need not be there yet.
func (e *Security) configure(cfg *config.Config) error {
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

// Attach makes that the gateway, which is told who there is. Where there are no keys, or none that could be read, nobody is let in, and nothing is said:
// what was kept for those who had some stays.
func (e *Security) Attach(g *actors.Gateway) {
	e.gate.Known(func(all, expired map[string]*identity.Principal) {
		if e.gateway.Store(g); len(all) > 0 {
			g.LoadPrincipals(all)
			g.LoadPrincipals(expired)
		}
	})
}

// OnNewKeys says how all connections are ended.
func (e *Security) OnNewKeys(hangUp func()) { e.hangUp = hangUp }

// Close ends the watch over requests.
func (e *Security) Close() { e.gate.Close() }

// Admission decides about requests.
func (e *Security) Admission() *auth.Gate { return e.gate }

// changed tells the gateway, once there is one, of principals that are others now, or nobody any more.
func (e *Security) changed(principals map[string]*identity.Principal) {
	if g := e.gateway.Load(); g != nil {
		g.UpdatePrincipals(principals)
	}
}

// came tells it of new ones.
func (e *Security) came(principals map[string]*identity.Principal) {
	if g := e.gateway.Load(); g != nil {
		g.AddPrincipals(principals)
	}
}

// denied tells the audit log.
func (e *Security) denied(d auth.Denial) {
	g := e.gateway.Load()
	if g == nil {
		return
	}
	r := audit.Record{Event: audit.EventDenied, Peer: d.From(), Item: d.Path, Decision: audit.Deny, Outcome: d.Error, Detail: d.Reason}
	if d.Principal != nil {
		r.Who, r.Via = d.Principal.ID, d.Principal.Via
	}
	g.Audit().Record(r)
}

// settingsOf is what the configuration says about who is let in.
func (e *Security) settingsOf(cfg *config.Config) auth.Settings {
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
func (e *Security) apply(cfg *config.Config) error {
	if e.listens && cfg.TLS.On() != e.Secure {
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

// loadPair reads the certificate and its key; a pair that does not fit changes nothing.
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
		e.log.Warn("the certificate has expired; clients will not believe it", "cert", cfg.TLS.Cert, "until", leaf.NotAfter)
	}
	if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o044 != 0 && runtime.GOOS != "windows" {
		e.log.Warn("others may read the private key: chmod 600 "+key, "key", cfg.TLS.Key)
	}
	e.pair.Store(&pair)
	return nil
}

// TLS is how listeners speak TLS; nil = they do not.
func (e *Security) TLS() *tls.Config {
	if !e.Secure {
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
