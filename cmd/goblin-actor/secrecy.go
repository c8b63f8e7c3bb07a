package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"goblin-actor/internal/config"
	"goblin-actor/internal/masterkey"
	"goblin-actor/internal/secret"
)

// fromConfiguration is the group of what a configuration says that is secret.
const fromConfiguration = "configuration"

// knownOf returns what cuts the secrets of cfg out of all that people are shown.
func knownOf(cfg *config.Config) *secret.Redactor {
	known := new(secret.Redactor)
	known.Replace(fromConfiguration, cfg.Secrets...)
	return known
}

// secretsOf is what is secret while next takes the place of was: processes of the one before still write.
func secretsOf(was, next *config.Config) []string { return slices.Concat(was.Secrets, next.Secrets) }

// masterOf finds the master key of the state file at path; "" = none is needed.
func masterOf(path string, log *slog.Logger) func() (*masterkey.Master, error) {
	return func() (*masterkey.Master, error) {
		return masterkey.Load(masterkey.Options{Dir: filepath.Dir(path), Getenv: os.Getenv, Log: log})
	}
}
