package interop

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// taskTold is what clients/driver.mjs reports about a call that became a task.
type taskTold struct {
	ID, Text, Error  string
	Statuses, Listed []string
}

// A client calls a tool that is only available as a task and requires input, and cancels another such call. Client and server use the TypeScript
// SDK, which implements tasks of 2025-11-25, over both transports. MCP 2025-11-25, basic/utilities/tasks.
func TestTasks(t *testing.T) {
	servers := map[string]any{"local": npmServer(t, "server-everything", "stdio"), "web": map[string]any{"url": everythingHTTP(t)}}
	g := serve(t, servers)
	typescript := startDriver(t, "v1")
	for name, where := range map[string]map[string]any{
		"http":  {"via": "http", "url": g.url},
		"stdio": {"via": "stdio", "command": binary, "args": []string{"stdio", "--config", writeConfig(t, t.TempDir(), servers)}},
	} {
		p, err := dialNode(t.Context(), typescript, where, manner{answers: answers{form: map[string]any{"interpretation": "snake"}}})
		if err != nil {
			t.Fatal(err)
		}
		client := p.(*node)
		for _, server := range []string{"local", "web"} { // over stdio, the gateway lets its client wait only five seconds for servers
			if err := eventually(t.Context(), listed(client, server+"_simulate-research-query")); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, server := range []string{"local", "web"} {
				t.Run(server, func(t *testing.T) {
					t.Parallel()
					askedTask(t, client, server)
				})
			}
			t.Run("cancelled", func(t *testing.T) {
				t.Parallel()
				var told taskTold
				err := client.do(t.Context(), "task", map[string]any{"name": "local_simulate-research-query", "arguments": map[string]any{"topic": "gold"}, "cancel": true}, &told)
				if err != nil || told.Text != "" || len(told.Listed) != 1 || told.Listed[0] != "cancelled" {
					t.Errorf("canceled task: got %+v, %v, want no text and one task, cancelled", told, err)
				}
			})
		})
	}
}

// Clients without tasks call a legacy server's tool that is only available as a task. They get its result, after an input request in their own era.
func TestTaskOnlyTools(t *testing.T) {
	g := serve(t, map[string]any{"local": npmServer(t, "server-everything", "stdio"), "web": map[string]any{"url": everythingHTTP(t)}})
	for _, version := range []string{"2025-06-18", legacyVersion, ""} {
		client, err := goSDKOverHTTP(t.Context(), target{url: g.url}, manner{version, answers{form: map[string]any{"interpretation": "snake"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, server := range []string{"local", "web"} {
			t.Run(client.version()+" "+server, func(t *testing.T) {
				t.Parallel()
				pieces, err := client.call(t.Context(), server+"_simulate-research-query", map[string]any{"topic": "python", "ambiguous": true}, nil)
				if err != nil || !strings.Contains(text(pieces), "python (snake)") {
					t.Errorf("got %q, %v, want a text about python (snake)", text(pieces), err)
				}
			})
		}
	}
}

// Clients without tasks call a modern server's tools that are only available as tasks. They get the results, one of them after an input request.
// Extension io.modelcontextprotocol/tasks.
func TestTasksOfModernServers(t *testing.T) {
	needNode(t)
	command := demoCommand("conformance", modernVersion)
	g := serve(t, map[string]any{
		"local": map[string]any{"command": command[0], "args": command[1:]},
		"web":   map[string]any{"url": demoHTTP(t, "conformance", modernVersion)},
	})
	form := answers{form: map[string]any{"name": "Goblin"}}
	old, err := goSDKOverHTTP(t.Context(), target{url: g.url}, manner{"2025-06-18", form})
	if err != nil {
		t.Fatal(err)
	}
	typescript, err := dialNode(t.Context(), startDriver(t, "v1"), map[string]any{"via": "http", "url": g.url}, manner{answers: form})
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"local", "web"} {
		for name, client := range map[string]peer{"go-sdk": old, "typescript": typescript} {
			if pieces, err := client.call(t.Context(), server+"_test_tool_with_task", nil, nil); err != nil || text(pieces) != "Hello, Goblin!" {
				t.Errorf("%s, %s_test_tool_with_task: %q, %v", name, server, text(pieces), err)
			}
			steps := newReports()
			if pieces, err := client.call(t.Context(), server+"_failing_job", nil, steps.add); err == nil || text(pieces) != "this job always fails" {
				t.Errorf("%s, %s_failing_job: got %q, %v, want its failure", name, server, text(pieces), err)
			}
			limit, cancel := context.WithTimeout(t.Context(), talkTime)
			if _, err := steps.wait(limit, 1); err != nil {
				t.Errorf("%s, %s_failing_job: %v", name, server, err)
			}
			cancel()
		}
	}
}

// askedTask calls a tool whose task requests input from the client, and checks the task's result.
func askedTask(t *testing.T, client *node, server string) {
	var told taskTold
	err := client.do(t.Context(), "task", map[string]any{"name": server + "_simulate-research-query", "arguments": map[string]any{"topic": "python", "ambiguous": true}}, &told)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(told.ID, server+"/") || !strings.Contains(told.Text, "python (snake)") || !slices.Equal(told.Statuses, []string{"working", "input_required"}) {
		t.Errorf("got %+v, want a task of %s with the statuses working and input_required, and a text about python (snake)", told, server)
	}
	if len(told.Listed) != 1 || told.Listed[0] != "completed" {
		t.Errorf("tasks/list returned %v", told.Listed)
	}
}
