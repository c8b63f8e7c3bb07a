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

// fromConfiguration is the group of what a configuration says that is secret.
const fromConfiguration = "configuration"

// Redactor returns what cuts the secrets of cfg out of all that people are shown.
func Redactor(cfg *config.Config) *secret.Redactor {
	known := new(secret.Redactor)
	known.Replace(fromConfiguration, cfg.Secrets...)
	return known
}

// secretsOf is what is secret while next takes the place of was: processes of the one before still write.
func secretsOf(was, next *config.Config) []string { return slices.Concat(was.Secrets, next.Secrets) }

// MasterKey finds the master key of the state file at path; nil where that is "": there is no place for one.
func MasterKey(path string, log *slog.Logger) func() (*masterkey.Master, error) {
	if path == "" {
		return nil
	}
	return sync.OnceValues(func() (*masterkey.Master, error) { // the state file and the audit log ask
		o := masterkey.Options{Dir: filepath.Dir(path), Getenv: os.Getenv, Keyring: userKeyring{}, Log: log}
		switch where := os.Getenv(masterkey.Variable); where {
		case "":
		case "keyring":
			o.Move = true
		default:
			return nil, fmt.Errorf("%s is %q, want keyring or nothing", masterkey.Variable, where)
		}
		return masterkey.Load(o)
	})
}

// userKeyring is the keyring of this session.
type userKeyring struct{}

func (userKeyring) Get(name string) (string, error) {
	value, err := keyring.Get(name)
	if errors.Is(err, keyring.ErrNotFound) {
		err = masterkey.ErrNotFound
	}
	return value, err
}

func (userKeyring) Set(name, value string) error { return keyring.Set(name, value) }
