package auth

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol/downstream"
)

var testProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")}

// S5.1.7.
func TestForwardedFor(t *testing.T) {
	for _, c := range []struct{ header, want string }{
		{"", "-"},
		{"X-Forwarded-For: 192.0.2.1", "192.0.2.1"},
		{"X-Forwarded-For: 6.6.6.6, 192.0.2.1", "192.0.2.1"},
		{"X-Forwarded-For: 192.0.2.1, 10.1.2.3", "192.0.2.1"},
		{"X-Forwarded-For: 10.1.2.3, 10.1.2.4", "10.1.2.3"},
		{"X-Forwarded-For: nonsense, 192.0.2.1:4711", "192.0.2.1"},
		{"X-Forwarded-For: [2001:db8::1]:80", "2001:db8::1"},
		{"X-Forwarded-For: ::ffff:192.0.2.1", "192.0.2.1"},
		{"x-forwarded-for: 6.6.6.6|X-FORWARDED-FOR: 192.0.2.1", "192.0.2.1"},
		{"X-Forwarded-For: 192.0.2.1, nonsense", "!"},
		{"X-Forwarded-For:", "!"},
		{"X-Forwarded-For: 192.0.2.1,", "!"},
		{"X-Forwarded-For: 192.0.2.1, unknown", "-"},
		{"X-Real-IP: 192.0.2.1", "192.0.2.1"},
		{"X-Real-IP: 192.0.2.1|X-Real-IP: 192.0.2.1", "!"},
		{"X-Real-IP: 6.6.6.6|X-Forwarded-For: 192.0.2.1", "192.0.2.1"},
		{"X-Forwarded-Proto: https|Via: 1.1 x", "-"},
		{"Forwarded: for=192.0.2.1", "192.0.2.1"},
		{`Forwarded: proto=https;FOR="[2001:db8::1]:4711";by=_x`, "2001:db8::1"},
		{`Forwarded: for=6.6.6.6, for="192.0.2.1" , for=10.0.0.1;host="a,b;c\""`, "192.0.2.1"},
		{"Forwarded: for=192.0.2.1, for=_hidden", "-"},
		{"Forwarded: proto=https", "-"},
		{"Forwarded: for=192.0.2.1;for=192.0.2.1", "!"},
		{"Forwarded: for=192.0.2.1|Forwarded: for=192.0.2.1", "!"},
		{"Forwarded: for=", "!"},
		{`Forwarded: for="192.0.2.1`, "!"},
		{"Forwarded: 192.0.2.1", "!"},
		{"Forwarded: for=192.0.2.1|X-Forwarded-For: 192.0.2.1", "192.0.2.1"},
		{"Forwarded: for=192.0.2.1|X-Forwarded-For: 192.0.2.2", "!"},
	} {
		client, ok := forwardedFor(withHeader(c.header), testProxies)
		got := client.String()
		switch {
		case !ok:
			got = "!"
		case !client.IsValid():
			got = "-"
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.header, got, c.want)
		}
	}
}

func withHeader(lines string) *downstream.Request {
	return downstream.NewRequest([]byte(strings.ReplaceAll(lines, "|", "\r\n") + "\r\n\r\n"))
}

func FuzzForwarded(f *testing.F) {
	f.Add(`Forwarded: for=6.6.6.6, for="192.0.2.1" , for=10.0.0.1;host="a,b;c\""|X-Forwarded-For: 192.0.2.1, 10.0.0.1`)
	f.Add("X-Real-IP: ::1")
	f.Add("Forwarded: for=a;=,")
	f.Fuzz(func(t *testing.T, lines string) {
		client, ok := forwardedFor(withHeader(lines), testProxies)
		if !ok && client.IsValid() {
			t.Errorf("%q: got address %v although the headers are invalid", lines, client)
		}
		if client.Zone() != "" || client.Is4In6() {
			t.Errorf("%q: address %v is not in canonical form", lines, client)
		}
	})
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer gba_x", "a=b")
	f.Add("bearer  x==", "access%5ftoken")
	f.Fuzz(func(t *testing.T, authorization, query string) {
		r := request(authorization)
		r.Query = []byte(query)
		token, kind := bearerOf(r)
		if (kind == presentedBearer) != (token != nil) {
			t.Errorf("%q: %q is of kind %d", authorization, token, kind)
		}
		if slices.ContainsFunc(token, func(c byte) bool { return c <= ' ' || c == ',' || c > '~' }) {
			t.Errorf("%q: token %q", authorization, token)
		}
		sumOf(token)
	})
}
