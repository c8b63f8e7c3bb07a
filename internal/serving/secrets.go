package serving

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"goblin-actor/internal/config"
	"goblin-actor/internal/keyring"
	"goblin-actor/internal/masterkey"
	"goblin-actor/internal/secret"
)

// fromConfiguration is the redactor's group for the secrets of the configuration.
const fromConfiguration = "configuration"

// Redactor returns a redactor that removes the secrets of cfg from output.
func Redactor(cfg *config.Config) *secret.Redactor {
	known := new(secret.Redactor)
	known.Replace(fromConfiguration, cfg.Secrets...)
	return known
}

// secretsOf returns the secrets of both configurations, because servers of the previous one may still write output.
func secretsOf(was, next *config.Config) []string { return slices.Concat(was.Secrets, next.Secrets) }

// MasterKey returns a function that loads the master key for the state file at path. It returns nil if path is "".
func MasterKey(path string, log *slog.Logger) func() (*masterkey.Master, error) {
	if path == "" {
		return nil
	}
	return sync.OnceValues(func() (*masterkey.Master, error) { // the state file and the audit log share the key
		o := masterkey.Options{Dir: filepath.Dir(path), Getenv: os.Getenv, Keyring: userKeyring{}, Log: log}
		switch where := os.Getenv(masterkey.Variable); where {
		case "":
		case "keyring":
			o.Move = true
		default:
			return nil, fmt.Errorf("%s is %q, want keyring or an empty value", masterkey.Variable, where)
		}
		return masterkey.Load(o)
	})
}

// userKeyring is the keyring of the user's session.
type userKeyring struct{}

func (userKeyring) Get(name string) (string, error) {
	value, err := keyring.Get(name)
	if errors.Is(err, keyring.ErrNotFound) {
		err = masterkey.ErrNotFound
	}
	return value, err
}

func (userKeyring) Set(name, value string) error { return keyring.Set(name, value) }
