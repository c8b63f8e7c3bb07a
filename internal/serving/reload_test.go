package serving

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
)

// A listener that was opened with keys outlives the file that allowed it: nobody may take the keys away under it.
func TestReloadDoesNotOpenTheDoor(t *testing.T) {
	for file, want := range map[string]bool{
		"auth: {keys: k}\ntls: {cert: c, key: k}":             false,
		"auth: {keys: k}\ntls: off":                           false,
		"listen: 127.0.0.1:8730\nauth: {keys: k}\ntls: off":   false,
		"listen: 127.0.0.1:8730\nauth: {keys: k}":             true,
		"listen: 127.0.0.1:8730":                              true,
		"listen: 127.0.0.1:8730\ntls: off":                    true,
		"listen: 127.0.0.1:8730\ntrustedProxies: [127.0.0.1]": true,
	} {
		cfg, report := config.Parse("goblin.yaml", []byte(file), func(string) (string, bool) { return "", false })
		if cfg == nil {
			t.Fatal(report.Err())
		}
		if err := exposes(cfg, []string{"127.0.0.1:1", "0.0.0.0:8730"}); (err != nil) != want {
			t.Errorf("%q with 0.0.0.0 open: %v", file, err)
		}
		if err := exposes(cfg, []string{"127.0.0.1:1", "[::1]:1"}); err != nil {
			t.Errorf("%q on loopback: %v", file, err)
		}
	}
}

// A file that is cut off while it is saved has no auth and no policy any more, and says nothing wrong: who may do what does not end by that.
func TestReloadDoesNotDisarm(t *testing.T) {
	parse := func(file string) *config.Config {
		cfg, report := config.Parse("goblin.yaml", []byte(file), func(string) (string, bool) { return "", false })
		if cfg == nil {
			t.Fatal(report.Err())
		}
		return cfg
	}
	const auth, policy, audit = "auth: {keys: k}\n", "policy: {roles: {reader: {readOnly: true}}}\n", "audit: {file: a, required: true}\n"
	for _, c := range []struct{ was, next, want string }{
		{auth + policy + audit, auth + policy + audit, ""},
		{auth + policy + audit, "", "auth and policy and audit.required is not there any more"},
		{auth + policy, auth, "policy is"},
		{auth + policy, policy, "auth is"},
		{auth, "auth: {keys: other}\n", ""},
		{policy, "policy: {mode: report, roles: {reader: {}}}\n", ""},
		{audit, "audit: {file: a}\n", ""},
		{"audit: {file: a}\n", "", ""},
		{"", auth + policy + audit, ""},
	} {
		err := disarms(parse(c.was), parse(c.next))
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q after %q: %v, want %q", c.next, c.was, err, c.want)
		}
	}
}
