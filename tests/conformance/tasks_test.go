package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
	"goblin-actor/protocol"
)

// A client has tasks on two servers at once: each response, input request and notification comes from the right server.
func TestTasksOfTwoServers(t *testing.T) {
	dir, err := os.MkdirTemp("", "gc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary, fixture := buildProgram(t, dir, gatewayPackage), buildProgram(t, dir, fixturePackage)
	server := map[string]any{"command": fixture, "args": []string{"--protocol", protocol.Version20260728}}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"one": server, "two": server}})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "goblin.yaml")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 100)
	d := &driver{
		modern: true,
		can:    map[string]any{"elicitation": map[string]any{}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
		told: func(method string, params json.RawMessage) {
			heard <- method + " " + string(params)
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), gatetest.Patience)
	defer cancel()
	if err := d.play(ctx, binary, dir, config, func(ctx context.Context, d *driver) error { return twoTasks(ctx, d, heard) }); err != nil {
		t.Error(err)
	}
}

// twoTasks starts a task that requires input on each server, and provides the input for one of them.
func twoTasks(ctx context.Context, d *driver, heard <-chan string) error {
	ids := map[string]string{}
	for _, server := range []string{"one", "two"} {
		made, err := d.task(ctx, "tools/call", map[string]any{"name": server + "_confirm_delete", "arguments": map[string]any{"filename": server}})
		if err != nil {
			return err
		}
		ids[server] = made.TaskID
		if !strings.HasPrefix(made.TaskID, server+"/") {
			return fmt.Errorf("the task of %s has the id %s", server, made.TaskID)
		}
	}
	ended := make(chan error, 1)
	listening, stop := context.WithCancel(ctx)
	go func() {
		_, err := d.ask(listening, "subscriptions/listen", map[string]any{"notifications": map[string]any{"taskIds": []string{ids["one"], ids["two"], "two/none"}}})
		ended <- err
	}()
	defer func() {
		stop()
		<-ended
	}()
	select {
	case first := <-heard:
		if !strings.Contains(first, "acknowledged") || !strings.Contains(first, ids["one"]) || !strings.Contains(first, ids["two"]) || strings.Contains(first, "none") {
			return fmt.Errorf("the stream started with %s", first)
		}
	case <-ctx.Done():
		return errors.New("the stream did not start")
	}
	answer := map[string]any{"confirm": map[string]any{"action": "accept", "content": map[string]any{"confirm": true}}}
	if _, err := d.task(ctx, "tasks/update", map[string]any{"taskId": ids["two"], "inputResponses": answer}); err != nil {
		return err
	}
	for told := ""; !strings.Contains(told, `"completed"`); {
		select {
		case told = <-heard:
			if !strings.HasPrefix(told, "notifications/tasks ") || !strings.Contains(told, ids["two"]) || strings.Contains(told, ids["one"]) {
				return fmt.Errorf("got notification %s", told)
			}
		case <-ctx.Done():
			return errors.New("no notification of the task's end")
		}
	}
	for server, want := range map[string]string{"one": "input_required", "two": "completed"} {
		got, err := d.task(ctx, "tasks/get", map[string]any{"taskId": ids[server]})
		if err != nil {
			return err
		}
		if got.TaskID != ids[server] || got.Status != want {
			return fmt.Errorf("the task of %s is %+v, want %s", server, got, want)
		}
	}
	_, err := d.task(ctx, "tasks/get", map[string]any{"taskId": "one/" + strings.TrimPrefix(ids["two"], "two/")})
	if err == nil {
		return errors.New("a task was found on the wrong server")
	}
	return nil
}

// taskState is the task in a result.
type taskState struct{ TaskID, Status string }

func (d *driver) task(ctx context.Context, method string, params map[string]any) (taskState, error) {
	var state taskState
	raw, err := d.ask(ctx, method, params)
	if err != nil {
		return state, err
	}
	return state, json.Unmarshal(raw, &state)
}
