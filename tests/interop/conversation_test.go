package interop

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// transcript records what a client saw of server-everything through the gateway.
type transcript struct {
	Server                               string
	Tools, Prompts, Resources, Templates []string
	Echo, Sum                            string
	Progress                             []float64
	Long                                 string
	Cancelled                            bool   // the call ended without a result soon after the client canceled it
	AfterCancel                          string // the next call on the same connection
	Read, Dynamic, Blob, Prompt          string
	NoTool, NoPrompt, NoResource         fault
	Link                                 string // the resource that a tool created
	Listed                               bool   // the resource was listed after list_changed
	LinkURI, LinkBlob                    string // contents of the resource, as read after that
}

// converse holds a long conversation. name makes the names of created items unique.
func converse(ctx context.Context, p peer, prefix, name string) (transcript, error) {
	s := transcript{Server: p.server()}
	var failed error
	keep := func(what string, err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", what, err)
		}
	}
	call := func(tool string, args map[string]any) string {
		pieces, err := p.call(ctx, prefix+"_"+tool, args, nil)
		keep(tool, err)
		return text(pieces)
	}
	read := func(original string) content {
		piece, err := p.read(ctx, "resource://"+prefix+"/"+original)
		keep("read "+original, err)
		return piece
	}
	for what, into := range map[string]*[]string{"tools": &s.Tools, "prompts": &s.Prompts, "resources": &s.Resources, "templates": &s.Templates} {
		names, err := p.list(ctx, what)
		keep("list "+what, err)
		*into = names
	}
	s.Echo = call("echo", map[string]any{"message": "grüße 👋"})
	s.Sum = call("get-sum", map[string]any{"a": 2, "b": 40})
	progress := newReports()
	pieces, err := p.call(ctx, prefix+"_trigger-long-running-operation", map[string]any{"duration": 0.5, "steps": 5}, progress.add)
	keep("long call", err)
	s.Progress, err = progress.wait(ctx, 1)
	keep("long call", err)
	s.Long = text(pieces)
	s.Cancelled = cancels(ctx, p, prefix)
	s.AfterCancel = call("echo", map[string]any{"message": "still here"})
	s.Read = read("demo://resource/static/document/features.md").text
	s.Dynamic = read("demo://resource/dynamic/text/7").text
	s.Blob = read("demo://resource/dynamic/blob/7").blob
	s.Prompt, err = p.prompt(ctx, prefix+"_args-prompt", map[string]string{"city": "Ulm"})
	keep("prompt", err)
	_, err = p.call(ctx, prefix+"_no-such", nil, nil)
	s.NoTool = p.fault(err)
	_, err = p.prompt(ctx, prefix+"_no-such", nil)
	s.NoPrompt = p.fault(err)
	_, err = p.read(ctx, "resource://"+prefix+"/demo://nothing")
	s.NoResource = p.fault(err)
	if failed == nil {
		keep("changed list", changedList(ctx, p, prefix, name, &s))
	}
	return s, failed
}

// cancels starts a call that takes a minute, cancels it at its first progress notification, and reports whether it then failed
// within 30 seconds.
func cancels(ctx context.Context, p peer, prefix string) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var cancelled atomic.Int64 // Unix nanoseconds of the cancellation; 0 = not canceled
	_, err := p.call(ctx, prefix+"_trigger-long-running-operation", map[string]any{"duration": 60, "steps": 600},
		func(float64) {
			cancelled.CompareAndSwap(0, time.Now().UnixNano())
			cancel()
		})
	return err != nil && time.Since(time.Unix(0, cancelled.Load())) < 30*time.Second
}

// changedList has a tool create a resource, waits until a list after list_changed contains it, and reads it.
func changedList(ctx context.Context, p peer, prefix, name string, s *transcript) error {
	pieces, err := p.call(ctx, prefix+"_gzip-file-as-resource", map[string]any{
		"name": prefix + "-" + name + ".gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}, nil)
	if err != nil || len(pieces) == 0 {
		return fmt.Errorf("gzip: %d pieces, %w", len(pieces), err)
	}
	s.Link = pieces[0].uri
	limit, cancel := context.WithTimeout(ctx, talkTime)
	defer cancel()
	for since := 0; !s.Listed; { // other clients of the server change the list too
		if err := p.heard().wait(limit, since, "resources/list_changed"); err != nil {
			return fmt.Errorf("no list_changed after which %s is listed: %w", s.Link, err)
		}
		since = p.heard().count()
		uris, err := p.list(ctx, "resources")
		if err != nil {
			return err
		}
		s.Listed = slices.Contains(uris, s.Link)
	}
	piece, err := p.read(ctx, s.Link)
	s.LinkURI, s.LinkBlob = piece.uri, piece.blob
	return err
}

// check compares a transcript with the direct answers of server-everything, under the gateway's names.
func (s transcript) check(t *testing.T, prefix string) {
	t.Helper()
	equal := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %.200q, want %q", what, got, want)
		}
	}
	begins := func(what, got, want string) {
		t.Helper()
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %.200q, want it to begin with %q", what, got, want)
		}
	}
	equal("server", s.Server, "goblin-actor")
	for what, c := range map[string]struct {
		list []string
		want string
	}{
		"tools":     {s.Tools, prefix + "_echo"},
		"prompts":   {s.Prompts, prefix + "_args-prompt"},
		"resources": {s.Resources, "resource://" + prefix + "/demo://resource/static/document/features.md"},
		"templates": {s.Templates, "resource://" + prefix + "/demo://resource/dynamic/text/{resourceId}"},
	} {
		if !slices.Contains(c.list, c.want) {
			t.Errorf("%s: %q is not in %q", what, c.want, c.list)
		}
		if !slices.IsSorted(c.list) {
			t.Errorf("%s are not sorted: %q", what, c.list)
		}
	}
	equal("echo", s.Echo, "Echo: grüße 👋")
	equal("sum", s.Sum, "The sum of 2 and 40 is 42.")
	if n := len(s.Progress); n == 0 || s.Progress[n-1] > 5 || !slices.IsSorted(s.Progress) {
		t.Errorf("progress: %v, want rising up to 5", s.Progress)
	}
	begins("long call", s.Long, "Long running operation completed")
	if !s.Cancelled {
		t.Error("the canceled call did not fail within 30 seconds")
	}
	equal("after cancel", s.AfterCancel, "Echo: still here")
	begins("read", s.Read, "# Everything Server")
	begins("dynamic text", s.Dynamic, "Resource 7: This is a plaintext resource")
	if plain, err := base64.StdEncoding.DecodeString(s.Blob); err != nil || !strings.HasPrefix(string(plain), "Resource 7:") {
		t.Errorf("dynamic blob: %v, %.100q", err, plain)
	}
	equal("prompt", s.Prompt, "What's weather in Ulm?")
	s.checkFaults(t, prefix)
	begins("link", s.Link, "resource://"+prefix+"/demo://resource/session/"+prefix)
	if !s.Listed {
		t.Errorf("%s was not listed after list_changed", s.Link)
	}
	equal("URI of what was read", s.LinkURI, s.Link)
	begins("gzip", s.LinkBlob, "H4sI")
}

func (s transcript) checkFaults(t *testing.T, prefix string) {
	t.Helper()
	for what, c := range map[string]struct {
		got     fault
		code    int
		message string
	}{
		"no tool":     {s.NoTool, -32602, "Tool not found: " + prefix + "_no-such"},
		"no prompt":   {s.NoPrompt, -32602, "Prompt not found: " + prefix + "_no-such"},
		"no resource": {s.NoResource, -32002, "Resource not found: resource://" + prefix + "/demo://nothing"},
	} {
		if c.got.Code != c.code || !strings.Contains(c.got.Message, c.message) {
			t.Errorf("%s: got %+v, want %d %q", what, c.got, c.code, c.message)
		}
	}
}
