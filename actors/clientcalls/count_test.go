package clientcalls

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// S0.10.1: a read is counted under its MIME type, and a tool call with isError separately from a successful one.
func TestAnswersAreCountedByOutcome(t *testing.T) {
	cases := []struct {
		name    string
		method  protocol.Method
		frame   string
		outcome status.Outcome
		mime    string
		code    int
	}{
		{"read", protocol.MethodResourcesRead, `"result":{"contents":[{"uri":"a:b","mimeType":"text\/plain","text":"x"},{"uri":"c:d","mimeType":"z/z"}]}`, status.OutcomeOK, "text/plain", 0},
		{"read, no type", protocol.MethodResourcesRead, `"result":{"contents":[{"uri":"a:b","text":"x"}]}`, status.OutcomeOK, "", 0},
		{"read without contents", protocol.MethodResourcesRead, `"result":{"contents":[]}`, status.OutcomeOK, "", 0},
		{"read, contents of another type", protocol.MethodResourcesRead, `"result":{"contents":7}`, status.OutcomeOK, "", 0},
		{"read refused", protocol.MethodResourcesRead, `"error":{"code":-32002,"message":"no"}`, status.OutcomeError, "", -32002},
		{"tool", protocol.MethodToolsCall, `"result":{"content":[]}`, status.OutcomeOK, "", 0},
		{"tool with isError false", protocol.MethodToolsCall, `"result":{"content":[],"isError":false}`, status.OutcomeOK, "", 0},
		{"tool failed", protocol.MethodToolsCall, `"result":{"content":[],"isError": true}`, status.OutcomeToolError, "", 0},
		{"tool with isError elsewhere in its result", protocol.MethodToolsCall, `"result":{"content":[{"type":"text","text":"\"isError\":true"}],"x":{"isError":true}}`, status.OutcomeOK, "", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var f protocol.Frame
			if err := f.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + c.frame + `}`)); err != nil {
				t.Fatal(err)
			}
			var h Held
			h.Method, h.Server, h.Client, h.Item, h.Public = c.method, "files", "editor 1", "read", "files_read"
			got := countAnswered(h.Began, &h, &f).Act.(*CallOutcome)
			failed := status.Failure{}
			if got.ended.Failure != nil {
				failed, got.ended.Failure = *got.ended.Failure, nil
			}
			if want := map[bool]status.Failure{true: {Code: "-32002", Text: "no"}}[c.code != 0]; failed != want {
				t.Errorf("failure of %s: got %+v, want %+v", c.frame, failed, want)
			}
			if want := (CallOutcome{"files", status.Ended{Client: "editor 1", Method: c.method, Item: "read", Public: "files_read", Outcome: c.outcome, Code: c.code, Out: int64(len(f.Raw))}, c.mime, nil}); *got != want {
				t.Errorf("answered(%s) = %+v, want %+v", c.frame, got, want)
			}
		})
	}
}

// S5.3.1: the log line for a refused read truncates the server's text. A secret at the cut is redacted as a whole.
func TestLoggedRefusalHidesTruncatedSecrets(t *testing.T) {
	const key = "ghp_hunter2hunter2hunter2hunter2hunter2"
	long := strings.Repeat("x", 180) + " " + key
	var f protocol.Frame
	if err := f.Parse(protocol.AppendError(nil, []byte("1"), -32000, long, nil)); err != nil {
		t.Fatal(err)
	}
	var h Held
	h.Method, h.Server, h.Item = protocol.MethodResourcesRead, "files", "x:"+long
	var known secret.Redactor
	known.Replace("configuration", key)
	var log bytes.Buffer
	line := logRefusedRead(&h, &f, nil)[0].Act.(kernel.Logged)
	slog.New(slog.NewTextHandler(known.Writer(&log), nil)).Log(t.Context(), line.Level, line.Text, line.Args...)
	if got := log.String(); strings.Contains(got, "ghp_hun") || strings.Count(got, secret.Hidden+"…") != 2 {
		t.Errorf("logged: %s", got)
	}
}
