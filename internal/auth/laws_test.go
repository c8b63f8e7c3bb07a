package auth

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/downstream"
)

// A closed stream makes room for a new one of its principal, any number of times.
func TestClosedStreamsMakeRoom(t *testing.T) {
	d := newTestGate(t)
	key := d.issue(Key{Name: "a"})
	d.configure(Settings{MaxCalls: 1, MaxStreams: 2})
	for round := range 5 {
		var held []downstream.Lease
		for range 3 {
			r := request("Bearer " + key)
			r.Stream = true
			if got := d.Admit(r); got.Refusal == nil {
				held = append(held, got.Lease)
			}
		}
		if len(held) != 2 {
			t.Fatalf("round %d: %d streams, want 2", round, len(held))
		}
		for _, lease := range held {
			lease.Release()
		}
	}
}

// Add keeps the keys of a file without a line break at its end. At the maximum size of a file, a key that fits is
// still added.
func TestAddAtTheEndOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	for _, text := range []string{line("ci", ""), strings.TrimSuffix(line("ci", ""), "\n"), "# none", ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := Add(path, Key{Name: "new", Sum: Sum{1}}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		keys, err := Load(path)
		after, _ := os.ReadFile(path)
		if err != nil || len(keys) != len(before)+1 || keys[len(before)].Name != "new" || bytes.Contains(after, []byte("\n\n")) || bytes.HasPrefix(after, []byte("\n")) {
			t.Errorf("%q became %q: %d keys, %v", text, after, len(keys), err)
		}
	}
	k := Key{Name: "new", Sum: Sum{1}}
	for over, want := range map[int]bool{0: true, 1: false} {
		comment := strings.Repeat("# "+strings.Repeat("x", 997)+"\n", (maxFileBytes-len(k.line()))/1000)
		comment += "#" + strings.Repeat("x", maxFileBytes+over-len(k.line())-len(comment)-2) + "\n"
		if err := os.WriteFile(path, []byte(comment), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Add(path, k)
		if (err == nil) != want {
			t.Errorf("%d bytes over the maximum size: %v", over, err)
		}
		if after, _ := os.ReadFile(path); (len(after) == maxFileBytes) != want || !want && string(after) != comment {
			t.Errorf("%d bytes over the maximum size: the file has %d bytes", over, len(after))
		}
	}
}

// Evicted networks count for the summary only if some of their failures were not logged. The line for other networks
// states how many networks exceed summaryNetworks, and how many failures they had.
func TestNetworksInTheSummary(t *testing.T) {
	yes, no := func(time.Time) bool { return true }, func(time.Time) bool { return false }
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	now := time.Unix(1000, 0)
	var f failures
	for i := range maxNetworks + 10 {
		f.add(now, address(i), yes)
	}
	if all, rest := f.takeSummary(); len(all) != 0 || rest.networks != 0 || rest.count != 0 {
		t.Errorf("%d networks and %+v in the summary, although all failures were logged", len(all), rest)
	}
	f = failures{}
	for i := range maxNetworks + 10 {
		f.add(now, address(i), no)
	}
	if all, rest := f.takeSummary(); len(all) != maxNetworks || rest.networks != 10 || rest.count != 10 {
		t.Errorf("%d networks and %+v in the summary, want %d and 10", len(all), rest, maxNetworks)
	}
	for _, networks := range []int{summaryNetworks - 1, summaryNetworks, summaryNetworks + 1, summaryNetworks + 3} {
		f = failures{}
		for i := range networks {
			f.add(now, address(i), no)
			f.add(now, address(i), no)
		}
		var text bytes.Buffer
		f.summary.log = slog.New(slog.NewTextHandler(&text, nil))
		f.logSummary()
		lines := strings.Count(text.String(), "\n")
		others := networks - summaryNetworks
		if want := min(networks, summaryNetworks+1); lines != want {
			t.Errorf("%d networks: %d lines, want %d", networks, lines, want)
		}
		if want := map[int]string{1: "networks=1 more=2", 3: "networks=3 more=6"}[others]; others > 0 && !strings.Contains(text.String(), want) || others <= 0 && strings.Contains(text.String(), "other networks") {
			t.Errorf("%d networks: %s, want %q", networks, &text, want)
		}
	}
}

// A parameter without a value is malformed wherever it stands, even if the client's address follows.
func TestForwardedWithoutAValue(t *testing.T) {
	for _, header := range []string{"Forwarded: by=;for=192.0.2.1", "Forwarded: for=192.0.2.1;by=", "Forwarded: by=,for=192.0.2.1", "Forwarded: =;for=192.0.2.1", "Forwarded: for=192.0.2.1;", "Forwarded: for=192.0.2.1,"} {
		if client, ok := forwardedFor(withHeader(header), testProxies); ok {
			t.Errorf("%s: accepted as %v", header, client)
		}
	}
}

// A token in the query is recognized however its name is encoded.
func TestEncodedTokenInTheQuery(t *testing.T) {
	for query, want := range map[string]bool{
		"access_token=x": true, "%61ccess_token=x": true, "access_toke%6E=x": true, "a=1&access%5ftoken": true, "%61%63%63%65%73%73%5f%74%6f%6b%65%6e": true,
		"access_tokens=x": false, "x=access_token": false, "%zz=x": false, "": false, "&&": false,
	} {
		if got := queryHasToken([]byte(query)); got != want {
			t.Errorf("%q has a token: %v, want %v", query, got, want)
		}
	}
}

// A gate with a key file is locked, and one without is not.
func TestLocked(t *testing.T) {
	d := newTestGate(t)
	if d.Locked() {
		t.Error("locked before it was configured")
	}
	d.issue(Key{Name: "a"})
	if d.configure(Settings{}); !d.Locked() {
		t.Error("not locked with a key file")
	}
}
