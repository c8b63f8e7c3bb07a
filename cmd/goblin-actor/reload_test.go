package main

import (
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
