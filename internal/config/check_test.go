package config

import (
	"fmt"
	"strings"
	"testing"
)

// S5.1.5: without auth, the gateway listens on loopback addresses only. With auth, other addresses need TLS, a trusted
// proxy or tls: off.
func TestAttack26OpenListenWithoutAuth(t *testing.T) {
	const exposed, plain = "without auth", "need TLS"
	for more, want := range map[string]string{
		"":                          exposed,
		"tls: off":                  exposed,
		"tls: {cert: c, key: k}":    exposed,
		"trustedProxies: 127.0.0.1": exposed,
		"auth: {keys: k}":           plain,
		"auth: {keys: k}\ntls: {}":  plain,
		"auth: {keys: k}\ntls: off": "",
		"auth: {keys: k}\ntls: {cert: c, key: k}":    "",
		"auth: {keys: k}\ntrustedProxies: 127.0.0.1": "",
	} {
		for _, address := range []string{"0.0.0.0:8730", ":8730", "[::]:8730", "192.0.2.1:8730", "gateway.example:8730"} {
			_, report := Parse("goblin.yaml", fmt.Appendf(nil, "listen: %q\n%s\n", address, more), func(string) (string, bool) { return "", false })
			err := report.Err()
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %q: %v, want %q", address, more, err, want)
			}
			if err != nil && (len(report.Faults) != 1 || !strings.Contains(report.Faults[0].Hint, "tls: {cert: tls.crt, key: tls.key}")) {
				t.Errorf("%s with %q: %+v, want one error with a hint about tls", address, more, report.Faults)
			}
		}
	}
}
