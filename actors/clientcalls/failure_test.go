package clientcalls

import (
	"strings"
	"testing"

	"goblin-actor/actors/admission"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// The beginning of a text is decoded without its rest, wherever the cut falls.
func TestBeginning(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"short", "short"},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", 8) + "…"},
		{strings.Repeat("é", 1<<20), strings.Repeat("é", 4) + "…"},
	} {
		if got := beginning(rawjson.Quote(c.text), 8); got != c.want {
			t.Errorf("beginning of %.20q: got %q, want %q", c.text, got, c.want)
		}
	}
	for shift := range 12 { // the cut falls on every byte of an escape
		raw := []byte(`"` + strings.Repeat("a", shift) + strings.Repeat(`\u0062\n`, 1000) + `"`)
		got, want := beginning(raw, 8), strings.Repeat("a", shift)+strings.Repeat("b\n", 8)
		if got != want[:8]+"…" {
			t.Errorf("shift %d: got %q", shift, got)
		}
	}
	for _, raw := range []string{"", "null", "7", `["x"]`} {
		if got := beginning([]byte(raw), 8); got != "" {
			t.Errorf("beginning of %s: got %q", raw, got)
		}
	}
}

// A secret that is cut at the end of a stored text is redacted as a whole.
func TestStoredErrorHidesTruncatedSecrets(t *testing.T) {
	const key = "ghp_hunter2hunter2hunter2hunter2hunter2"
	long := strings.Repeat("x", status.MaxErrorText-20) + " " + key
	var f protocol.Frame
	if err := f.Parse(protocol.AppendError(nil, []byte("1"), -32000, long, nil)); err != nil {
		t.Fatal(err)
	}
	var known secret.Redactor
	known.Replace("configuration", key)
	for _, failed := range []*status.Failure{failureIn(&f), failureOf(&protocol.Fault{Name: protocol.InternalFault, Message: long})} {
		if got := known.Cut(failed.Text); strings.Contains(got, "ghp_hun") || !strings.HasSuffix(got, secret.Hidden+"…") {
			t.Errorf("text: %q", got)
		}
	}
}

// A request that no server got is stored with the reason. A denied one is stored as denied, although the error for its client says that the
// item does not exist.
func TestRefusedIsStored(t *testing.T) {
	x := &downstream.Exchange{}
	if err := x.Frame.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := x.Params.Scan(&x.Frame); err != nil {
		t.Fatal(err)
	}
	m := status.NewMetrics()
	Refused(x, "agent 2", "2025-11-25", protocol.NoTool("nope"), nil).Act.(CallRefused).Store(m, "a")
	Refused(x, "agent 2", "2025-11-25", protocol.NoTool("nope"), &admission.Denied{Server: "files", Item: "own"}).Act.(CallRefused).Store(m, "a")
	got := m.Finished("", 0)
	if len(got) != 2 {
		t.Fatalf("%d calls are stored", len(got))
	}
	for i, want := range []status.FinishedCall{
		{Number: 1, Code: "TOOL_NOT_FOUND", Error: "Tool not found: nope"},
		{Number: 2, Code: "POLICY_DENIED", Error: "no role permits it", Item: "own"},
	} {
		want.Session, want.Client, want.Method, want.Public, want.Outcome, want.Version = "a", "agent 2", "tools/call", "nope", "failed", "2025-11-25"
		want.Began, want.Seconds, want.In = got[i].Began, got[i].Seconds, int64(len(x.Frame.Raw))
		if got[i] != want || got[i].Began.IsZero() {
			t.Errorf("got %+v, want %+v", got[i], want)
		}
	}
}
