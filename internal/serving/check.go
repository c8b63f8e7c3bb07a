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

// CheckFiles says what is wrong with the files beside the configuration without which the gateway does not start. Those that are missing
// are among the findings of the configuration.
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
	return nil
}

// MetricsVisible reports whether there is anybody whom /metrics is shown to: a policy shows it only to roles that say so, which is easily
// forgotten until a scrape fails.
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

// HiddenMetrics says that there is nobody.
func HiddenMetrics(cfg *config.Config) *config.Finding {
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
