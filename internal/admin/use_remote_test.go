package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

// useSocket serves the admin socket of a gateway that performs uses, and returns its path.
func useSocket(t *testing.T, perform status.UseFunc) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	source := status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Perform: perform,
		Known: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") }}
	s, err := Listen(path, source, perform, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return path
}

// A console receives the progress of a call and its answer, without known secrets.
func TestUseIsStreamed(t *testing.T) {
	var got status.Use
	path := useSocket(t, func(_ context.Context, u status.Use, tell func(status.UseEvent)) (status.UseResult, error) {
		got = u
		if u.URI != "" {
			return status.UseResult{}, errors.New("the gateway is stopping")
		}
		tell(status.UseEvent{Progress: &status.UseProgress{Done: 1, Total: 2, Message: "hunter2\nevent: answer"}})
		return status.UseResult{Result: json.RawMessage(`{"a":"hunter2"}`)}, nil
	})
	source, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	var told []status.UseProgress
	a, err := source.Use(t.Context(), status.Use{Tool: "t", Arguments: json.RawMessage(`{"n":1}`)}, func(e status.UseEvent) { told = append(told, *e.Progress) })
	if err != nil || string(a.Result) != `{"a":"[redacted]"}` || string(got.Arguments) != `{"n":1}` {
		t.Errorf("%s, %v, arguments %s", a.Result, err, got.Arguments)
	}
	if len(told) != 1 || told[0] != (status.UseProgress{Done: 1, Total: 2, Message: "[redacted]\nevent: answer"}) {
		t.Errorf("progress %+v", told)
	}
	if _, err := source.Use(t.Context(), status.Use{Prompt: "p"}, nil); err != nil || got.Prompt != "p" {
		t.Errorf("prompt %+v, %v", got, err)
	}
	if _, err := source.Use(t.Context(), status.Use{URI: "u"}, nil); err == nil || err.Error() != "the gateway is stopping" {
		t.Errorf("error %v", err)
	}
}

// A console that gives up cancels the call.
func TestUseEndsWithItsContext(t *testing.T) {
	began, ended := make(chan bool), make(chan bool)
	path := useSocket(t, func(ctx context.Context, _ status.Use, _ func(status.UseEvent)) (status.UseResult, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return status.UseResult{}, ctx.Err()
	})
	source, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := source.Use(ctx, status.Use{Tool: "t"}, nil); err == nil {
		t.Error("no error")
	}
	<-ended
}

// The gateway itself refuses what a read-only console asks for.
func TestReadOnlyIsRefused(t *testing.T) {
	path := useSocket(t, func(context.Context, status.Use, func(status.UseEvent)) (status.UseResult, error) {
		t.Error("the call was performed")
		return status.UseResult{}, nil
	})
	source, err := DialReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = "read-only"
	if err := source.Act(t.Context(), status.Action{Verb: status.Restart, Server: "files"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("restart: %v", err)
	}
	if err := source.Act(t.Context(), status.Action{Verb: status.Record, Server: "files"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("record: %v", err)
	}
	for _, u := range []status.Use{{Tool: "t"}, {Prompt: "p"}, {URI: "u"}} {
		if _, err := source.Use(t.Context(), u, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", u, err)
		}
	}
	if _, err := source.Status(t.Context()); err != nil {
		t.Errorf("status: %v", err)
	}
}

// A question of a streamed call is answered over another request. Known secrets are not in it.
func TestQuestionIsStreamed(t *testing.T) {
	answered := make(chan status.UseAnswer)
	source := status.Local{Gateway: &gateway{}, Counters: status.NewMetrics(), Known: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") },
		Perform: func(_ context.Context, _ status.Use, tell func(status.UseEvent)) (status.UseResult, error) {
			tell(status.UseEvent{Question: &status.UseQuestion{ID: "q", Message: "hunter2?", Schema: json.RawMessage(`{"a":"hunter2"}`)}})
			a := <-answered
			tell(status.UseEvent{Closed: "q"})
			return status.UseResult{Result: a.Content}, nil
		},
		Reply: func(_ context.Context, a status.UseAnswer) error {
			if a.Question != "q" {
				return status.ErrNoQuestion
			}
			answered <- a
			return nil
		}}
	path := filepath.Join(t.TempDir(), "s")
	s, err := Listen(path, source, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	console, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	looker, err := DialReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	var closed string
	r, err := console.Use(t.Context(), status.Use{Tool: "t"}, func(e status.UseEvent) {
		closed = e.Closed
		q := e.Question
		if q == nil {
			return
		}
		if q.Message != "[redacted]?" || string(q.Schema) != `{"a":"[redacted]"}` {
			t.Errorf("question %+v with %s", q, q.Schema)
		}
		for _, c := range []struct {
			source status.Source
			answer status.UseAnswer
			want   string
		}{
			{looker, status.UseAnswer{Question: "q", Action: status.Accept}, "read-only"},
			{console, status.UseAnswer{Question: "p", Action: status.Accept}, "no longer open"},
			{console, status.UseAnswer{Question: "q", Action: "maybe"}, "is not accept"},
			{console, status.UseAnswer{Action: status.Decline}, "no member question"},
			{console, status.UseAnswer{Question: "q", Action: status.Decline, Content: json.RawMessage(`{}`)}, "only with the action accept"},
			{console, status.UseAnswer{Question: "q", Action: status.Accept, Content: json.RawMessage(`{"n":1}`)}, "<nil>"},
		} {
			if err := c.source.Answer(t.Context(), c.answer); !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%+v: %v, want %s", c.answer, err, c.want)
			}
		}
	})
	if err != nil || string(r.Result) != `{"n":1}` || closed != "q" {
		t.Errorf("%s, %v, closed %q", r.Result, err, closed)
	}
}
