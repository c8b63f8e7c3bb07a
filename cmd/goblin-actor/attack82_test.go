package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/cli"
	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/keyring"
)

// leaking is a server that prints its secrets in several encodings: to stderr, to stdout, and at its end.
const leaking = `
for s in "$A" "$B" "$C" "$D"; do
  echo "token=$s and more" >&2
  printf '%s' "$s" | base64 >&2
  printf 'user:%s' "$s" | base64 >&2
  printf '{"token":"%s"}\n' "$s" >&2
  echo "$s"
done
echo "goodbye $A $B $C $D" >&2
exit 3
`

// refusing is a server that answers every request with an error that contains its secrets.
const refusing = `
while read line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([^,}]*\).*/\1/')
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"bad tokens %s %s %s %s"}}\n' "$id" "$A" "$B" "$C" "$D"
done
`

// plantedSecrets are, in this order, the value of a variable, the content of a file, a keyring entry, the output of a
// command, a token in a header, and a value written in a URL and in env.
var plantedSecrets = []string{"plantEd-variable-1+/=", "plantEd-file-2+/=", "plantEd-keyring-3+/=", "plantEd-command-4+/=", "plantEd-header-5", "plantEd-literal-6"}

// writings returns the forms of a secret that are searched for: unchanged, encoded, and without the last three bytes.
func writings(s string) []string {
	raw, _ := json.Marshal(s)
	return []string{s, base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)),
		base64.StdEncoding.EncodeToString([]byte("user:" + s)), url.QueryEscape(s), strings.Trim(string(raw), `"`), s[:len(s)-3]}
}

// S5.3.1: Attack 82: a configuration has secrets of every kind, and its servers print them in several encodings. No log,
// page, command or error may show one. Messages between client and server pass unchanged.
func TestAttack82PlantedSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) { plantAndSearch(t, format) })
	}
}

func plantAndSearch(t *testing.T, format string) {
	dir := t.TempDir()
	t.Chdir(dir)
	short := gatetest.ShortDir(t)
	for name, value := range map[string]string{"PLANTED_VALUE": plantedSecrets[0], "XDG_RUNTIME_DIR": short, "XDG_STATE_HOME": dir, "GOBLIN_CONFIG": ""} {
		t.Setenv(name, value)
	}
	keyring.Fake()
	if err := keyring.Set("planted", plantedSecrets[2]); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"secret.txt": plantedSecrets[1] + "\n", "leak.sh": leaking, "refuse.sh": refusing, "say": plantedSecrets[3]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	echoing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "refused: %s %s", r.Header.Get("X-Mine"), r.Header.Get("Authorization"))
	}))
	defer echoing.Close()
	path := filepath.Join(dir, "planted.yaml")
	text := fmt.Sprintf(`listen: 127.0.0.1:0
log: {level: debug, format: %s}
audit: {file: audit.jsonl, when: both}
mcpServers:
  leaky:
    command: sh
    args: [leak.sh]
    cwd: .
    env: {A: "${PLANTED_VALUE}", B: "${file:secret.txt}", C: "${keyring:planted}", D: "${command:cat say}"}
  refusing:
    command: sh
    args: [refuse.sh]
    cwd: .
    env: {A: "${PLANTED_VALUE}", B: "${file:secret.txt}", C: "${keyring:planted}", D: "${command:cat say}"}
  argued: {command: sh, args: [-c, "echo \"$0 $1\" >&2; exit 4", "${file:secret.txt}", "--token=${command:cat say}"]}
  missing: {command: "no-such-${file:secret.txt}"}
  remote: {url: %q, headers: {Authorization: "Bearer %s", X-Mine: "${env:PLANTED_VALUE}"}, auth: {type: none}}
  steady: {command: goblin-actor, args: [demo, notes], env: {API_KEY: "%s", ALSO: "${file:secret.txt}"}}
`, format, echoing.URL+"/mcp?key=plantEd-literal-6", plantedSecrets[4], plantedSecrets[5])
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway := startPlanted(t, path)
	searched := 0
	search := func(what, said string) {
		t.Helper()
		searched++
		for _, secret := range plantedSecrets {
			for _, written := range writings(secret) {
				if at := strings.Index(said, written); at >= 0 {
					t.Errorf("%s contains %q: …%.200s…", what, secret, said[max(0, at-80):])
					break
				}
			}
		}
	}
	command := func(line string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out, errOut bytes.Buffer
		cli.Run(ctx, strings.Fields(strings.ReplaceAll(line, "FILE", path)), strings.NewReader(""), &out, &errOut)
		return out.String() + errOut.String()
	}
	// Messages between client and server are not redacted.
	note := plantedSecrets[1]
	if said := command("call steady_add_note title=t text=" + note + " --connect " + gateway.url); !strings.Contains(command("read note:///t --connect "+gateway.url), note) {
		t.Errorf("a secret was redacted in a response; the note: %s", said)
	}
	search("a gateway error", command("call leaky_x --connect "+gateway.url)+command("call refusing_x --connect "+gateway.url))
	for _, secret := range plantedSecrets[:4] { // the audit log records the names that clients request
		search("a gateway error", strings.ReplaceAll(command("read x://t/?key="+secret+" --connect "+gateway.url), "x://t/?key="+secret, ""))
	}
	for _, line := range []string{"audit tail --config FILE", "audit tail --config FILE -o json", "audit verify --config FILE", "status", "status -o json", "logs", "logs leaky", "logs leaky -o json", "logs argued", "calls", "calls -o json", "list servers --connect " + gateway.url,
		"list servers -o json --connect " + gateway.url, "config show FILE", "config check FILE", "doctor --config FILE --timeout 20s", "doctor --config FILE --timeout 20s -o json", "list tools --config FILE"} {
		search(line, command(line))
	}
	for _, page := range []string{"statusz", "serverz", "backendz", "catalogz", "callz", "sessionz", "actorz", "subscriptionz", "metrics", "logz", "logz?server=leaky", "finishedz", "readyz"} {
		search("/"+page, gateway.page(t, page))
	}
	search("/eventz", events(t, gateway))
	resp, err := http.Get(strings.TrimSuffix(gateway.url, "/mcp") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	public, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	search("public /metrics", string(public))
	log := gateway.stop(t)
	search("the log", log)
	if !strings.Contains(log, "[redacted]") || strings.Count(log, "and more") < 4 {
		t.Errorf("the log lacks the servers' output, so the search proved nothing:\n%s", log)
	}
	if searched < 20 {
		t.Errorf("only %d outputs were searched", searched)
	}
	recorded, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil || bytes.Count(recorded, []byte(`x://t/?key=[redacted]`)) < 4 {
		t.Errorf("the audit log lacks the requested names, so the search proved nothing: %v\n%s", err, recorded)
	}
	search("the audit log", string(recorded))
	entries, err := filepath.Glob(filepath.Join(dir, "goblin-actor", "*"))
	if err != nil || !slices.ContainsFunc(entries, func(s string) bool { return strings.HasSuffix(s, "state.db") }) {
		t.Errorf("state: %q, %v", entries, err)
	}
	for _, entry := range entries {
		raw, err := os.ReadFile(entry)
		if err != nil {
			t.Error(err)
		}
		search(filepath.Base(entry), string(raw))
	}
}

// events returns the events that the gateway has recorded so far.
func events(t *testing.T, g *plantedGateway) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	resp, err := g.admin(ctx, "eventz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	if !strings.Contains(string(said), "data:") {
		t.Errorf("no events: %q", said)
	}
	return string(said)
}
