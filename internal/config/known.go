package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"goblin-actor/internal/pattern"
	"goblin-actor/internal/secret"
)

// plainVariables matches variables that never hold a secret. Hiding the home directory, for example, would make logs useless.
var plainVariables = pattern.Lazy(`^(?:HOME|USERPROFILE|USER|LOGNAME|USERNAME|HOSTNAME|PATH|PWD|SHELL|TERM|LANG|LC_.*|TZ|TMPDIR|TEMP|TMP|APPDATA|LOCALAPPDATA|XDG_.*_(?:HOME|DIRS?)|NODE_ENV)$`)

// secretPlaces matches the schema paths of the fields tagged secret. A variable's value used there is secret unless
// plainVariables matches the variable's name.
var secretPlaces = pattern.Lazy(`^mcpServers\.\*\.(?:env\.|headers\.|auth\.clientSecret$)|^cluster\.(?:secrets|nats\.urls?)$`)

// noteSecrets records the secrets among resolved values. Values from files, the keyring and commands are always secret.
// A variable's value is secret if it is used at a secret place, or if its name or form suggests a secret. Values
// shorter than secret.Shortest are not recorded.
func (d *decoder) noteSecrets(values []resolved, at place) {
	for _, v := range values {
		switch {
		case v.variable == "":
			d.noteSecret(v.value)
		case plainVariables().MatchString(v.variable):
		case secretPlaces().MatchString(at.schema), secret.Pair(v.variable, v.value) != v.value:
			d.noteSecret(v.value)
		}
	}
}

func (d *decoder) noteSecret(value string) {
	if value = strings.TrimSpace(value); len(value) < secret.Shortest {
		return
	}
	if d.secrets == nil {
		d.secrets = map[string]bool{}
	}
	d.secrets[value] = true
}

// notePassword records the password in a URL.
func (d *decoder) notePassword(address string) {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		password, _ := u.User.Password()
		d.noteSecret(password)
	}
}

// known returns all secret values, including those written in the file or in an envFile.
func (d *decoder) known(cfg *Config) secret.Values {
	note := func(word, shown string) {
		secret.Move(word, shown, func(value, _ string) string {
			d.noteSecret(value)
			return ""
		})
	}
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		for _, texts := range []map[string]string{s.Env, s.Headers} {
			for _, name := range sortedKeys(texts) {
				if !plainVariables().MatchString(name) {
					note(texts[name], secret.Pair(name, texts[name]))
				}
			}
		}
		for i, shown := range secret.Arguments(s.Args) {
			note(s.Args[i], shown)
		}
		for _, address := range s.URLs {
			note(address, secret.URL(address))
			d.notePassword(address)
		}
		d.noteSecret(s.Auth.ClientSecret)
	}
	for _, value := range cfg.Cluster.Secrets {
		d.noteSecret(value)
	}
	for _, address := range cfg.Cluster.NATS.URLs {
		note(address, secret.URL(address))
		d.notePassword(address)
	}
	return slices.Sorted(maps.Keys(d.secrets))
}
