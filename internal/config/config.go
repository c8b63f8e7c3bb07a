package config

import "io"

// Load reads and parses the file at path with the variables of this process. The Config is nil when the Report has faults.
func Load(path string) (*Config, Report) { return nil, Report{} }

// Parse parses data, named name in the Report. env answers `${VAR}` (os.LookupEnv outside tests).
// The Config is nil when the Report has faults. It never panics and reads no file.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, Report) {
	return nil, Report{}
}

// Find is the file to load: flag (`--config`), $GOBLIN_CONFIG, ./goblin.yaml, $XDG_CONFIG_HOME/goblin-actor/config.yaml.
// The first two count also when no such file exists; ok is false when there is nothing to load.
func Find(flag string, getenv func(string) string) (path string, ok bool) { return "", false }

// Default returns a complete Config without servers.
func Default() Config { return Config{} }

// DefaultServer returns a Server with every default that does not depend on its kind.
func DefaultServer() Server { return Server{} }

// CheckListen says whether we may listen on addr: host:port with a loopback host, as long as nobody is asked who they are.
func CheckListen(addr string) error { return nil }

// Changes is what differs between two configs. Servers are matched by name; each stands in one list at most.
type Changes struct {
	Added       []Server // as the new config has them
	Removed     []Server // as the old one had them
	CatalogOnly []Server // new values; the connections stay
	Transport   []Server // new values; the connections have to be made anew
	Listen      bool     // refused until restart
	Settings    []string // other top-level keys that changed, e.g. `limits`
}

// Diff compares the config in force with a new one.
func Diff(old, new *Config) Changes { return Changes{} }

// Show writes the effective values as YAML, each with its origin; r is the Report that came with c.
func Show(w io.Writer, c *Config, r Report) error { return nil }
