package serving

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

// CheckFiles checks that the key file and the certificates can be used; otherwise the gateway does not start. It ignores
// missing files, which the configuration's findings report.
func CheckFiles(cfg *config.Config) error {
	if cfg.Auth.On() {
		if _, err := auth.Load(cfg.Beside(cfg.Auth.Keys)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			hint := ""
			if file, ok := errors.AsType[*auth.FileError](err); ok {
				hint = file.Hint
			}
			return &CredentialError{err, hint}
		}
	}
	if cfg.TLS.On() {
		if _, err := tls.LoadX509KeyPair(cfg.Beside(cfg.TLS.Cert), cfg.Beside(cfg.TLS.Key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &CredentialError{ofTLS(err), tlsHint}
		}
	}
	if cfg.Cluster.TLS.On() {
		if _, err := NodeTLS(cfg); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &CredentialError{err, nodeHint}
		}
	}
	return nil
}

// MetricsVisible reports whether any principal may see /metrics. It returns true if the keys cannot be read. With a
// policy, a role must permit it, which is easily forgotten until a scrape fails.
func MetricsVisible(cfg *config.Config) bool {
	p := policy.Compile(cfg.Policy)
	if !cfg.Auth.On() {
		return p.Admin(p.Rights(nil, "", true), true) >= identity.AdminView
	}
	keys, err := auth.Load(cfg.Beside(cfg.Auth.Keys))
	return err != nil || p == nil || slices.ContainsFunc(keys, func(k auth.Key) bool {
		return p.Admin(p.Rights(k.Roles, k.Name, false), false) >= identity.AdminView
	})
}

// HiddenMetrics returns the finding for a policy that shows /metrics to no principal.
func HiddenMetrics(cfg *config.Config) *config.Finding {
	f := &config.Finding{File: cfg.Path, Path: "policy", Message: "/metrics is visible to no principal: no role that is in use has admin: view",
		Hint: "add admin: view to a role that is bound with local: true, unless /metrics on the admin socket suffices"}
	if cfg.Auth.On() {
		f.Hint = "add admin: view to a role, and scrape with a key that has the role: goblin-actor key new prometheus --role ROLE"
	}
	return f
}

// ofTLS adds "tls: " to an error about the certificate or its key, unless it has that prefix.
func ofTLS(err error) error {
	if strings.HasPrefix(err.Error(), "tls: ") {
		return err
	}
	return fmt.Errorf("tls: %w", err)
}
