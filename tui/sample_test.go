package tui

import (
	"time"

	"goblin-actor/internal/status"
)

// samplePicture returns a typical gateway: several servers, one of which fails, with active clients and open questions.
func samplePicture() *Picture {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	s := &status.Snapshot{
		Version: "v0.1.0", Started: ago(3*time.Hour + 12*time.Minute), Now: noon, Listen: []string{"127.0.0.1:8730"}, Ready: true, Failed: []string{"issues"},
		Catalog: status.Catalog{Version: 41, Tools: 6, Prompts: 2, Resources: 4, Templates: 2},
		Servers: []status.Server{
			{Name: "files", State: "ready", ReadyCount: 1, Replicas: 1, InFlight: 1, Tools: 3, Resources: 3, Templates: 1, Subscribed: 1, Subscribers: 1, Settled: true, Description: "The notes on this machine"},
			{Name: "github", State: "ready", ReadyCount: 2, Replicas: 2, InFlight: 2, Queued: 1, Tools: 3, Prompts: 2, Templates: 1, Settled: true},
			{Name: "issues", State: "waiting", Reason: "process exited with code 1; stderr: Error: ISSUES_TOKEN is not set", Hint: "the gateway retries by itself; run goblin-actor doctor for the cause, or goblin-actor restart issues to retry now", Replicas: 1,
				NextAttempt: noon.Add(7500 * time.Millisecond), Settled: true, FailedFirst: true},
			{Name: "memory", State: "ready", ReadyCount: 1, Replicas: 1, Resources: 1, Subscribed: 1, Subscribers: 1, Settled: true},
			{Name: "old", State: "disabled", Settled: true},
		},
		Backends: []status.Backend{
			{Server: "files", State: "ready", Incarnation: 1, Protocol: "2025-11-25", Transport: "stdio", PID: 41233, Since: ago(3 * time.Hour), InFlight: 1, Noise: 2,
				Stderr: []string{"Secure MCP Filesystem Server running on stdio"}},
			{Server: "github", State: "ready", Incarnation: 1, Protocol: "2026-07-28", Transport: "http", Since: ago(3 * time.Hour), InFlight: 1},
			{Server: "github", Replica: 1, State: "ready", Incarnation: 4, Protocol: "2026-07-28", Transport: "http", Since: ago(11 * time.Minute), InFlight: 1},
			{Server: "issues", State: "waiting", Reason: "process exited with code 1; stderr: Error: ISSUES_TOKEN is not set", Incarnation: 9, Transport: "stdio", Since: ago(22 * time.Second),
				NextAttempt: noon.Add(7500 * time.Millisecond), Stderr: []string{"Error: ISSUES_TOKEN is not set", "Error: ISSUES_TOKEN is not set", "    at main (index.js:12)"}},
			{Server: "memory", State: "ready", Incarnation: 1, Protocol: "2025-06-18", Transport: "stdio", PID: 41240, Since: ago(3 * time.Hour)},
		},
		Sessions: []status.Session{
			{ID: "1ak3v7qd", Client: "editor 1.98.2", Protocol: "2025-11-25", Transport: "http", Since: ago(2 * time.Hour), LastSeen: ago(2 * time.Second), InFlight: 2, Streams: 1},
			{ID: "1azz07pb", Client: "desktop 0.12", Protocol: "2025-06-18", Transport: "stdio", Since: ago(40 * time.Minute), LastSeen: ago(4 * time.Minute)},
			{ID: "listen", Client: "agent 2.1", Protocol: "2026-07-28", Transport: "http", Since: ago(70 * time.Second), LastSeen: ago(70 * time.Second), Streams: 1},
		},
		Calls: []status.Call{
			{ID: "session/1ak3v7qd/17", Session: "1ak3v7qd", Server: "github", Method: "tools/call", Item: "create_issue", State: "parked", Began: ago(48 * time.Second), Deadline: noon.Add(252 * time.Second)},
			{ID: "session/1ak3v7qd/18", Session: "1ak3v7qd", Server: "files", Method: "resources/read", Item: "file:///home/ada/notes/milk.md", State: "written", Began: ago(800 * time.Millisecond), Deadline: noon.Add(59 * time.Second)},
			{ID: "desk/0/4", Session: "desk", Client: "agent 2.1", Server: "github", Method: "tools/call", Item: "search_code", State: "written", Began: ago(3 * time.Second), Deadline: noon.Add(57 * time.Second)},
			{ID: "desk/1/2", Session: "desk", Client: "agent 2.1", Server: "github", Method: "tools/call", Item: "search_code", State: "queued", Began: ago(2 * time.Second)},
		},
		Subscriptions: []status.Subscription{
			{Session: "1ak3v7qd", Server: "files", URI: "resource://files/file:///home/ada/notes/milk.md", OwnURI: "file:///home/ada/notes/milk.md"},
			{Session: "listen", Server: "memory", URI: "resource://memory/memory://graph", OwnURI: "memory://graph"},
		},
		Actors: []status.Actor{
			{Name: "gateway", Kind: "gateway", Handled: 512, Last: "message.Inspect"},
			{Name: "gateway/desk/0", Kind: "desk", Depth: 1, Handled: 90211, Last: "message.StatelessRequest"},
			{Name: "gateway/pool/github", Kind: "pool", Depth: 3, Handled: 181022, Refused: 12, Last: "message.Dispatch"},
			{Name: "gateway/pool/issues/backend/0.9", Kind: "backend", Handled: 44, Restarts: 1, Panics: 1, Last: "backend.linkEvent"},
			{Name: "gateway/session/1ak3v7qd", Kind: "session", Handled: 20411, Last: "message.Done"},
			{Name: "monitor", Kind: "monitor", Handled: 2044, Last: "monitor.surveyed"},
		},
	}
	return &Picture{Snapshot: s, Items: sampleItems(), Events: sampleEvents(), Metrics: sampleMetrics}
}

func sampleItems() *status.Items {
	return &status.Items{Version: 41,
		Tools: []status.Item{
			{Server: "files", Public: "files_read_file", Original: "read_file", Name: "files_read_file", Description: "Read the complete contents of a file as text", Size: -1,
				Raw: `{"name":"files_read_file","description":"Read the complete contents of a file as text","inputSchema":{"type":"object","required":["path"]}}`},
			{Server: "files", Public: "files_search_files", Original: "search_files", Description: "Search for files and directories that match a pattern", Size: -1},
			{Server: "files", Public: "files_write_file", Original: "write_file", Description: "Create a file or replace what is in it", Size: -1},
			{Server: "github", Public: "github_create_issue", Original: "create_issue", Description: "Open an issue in a repository", Size: -1},
			{Server: "github", Public: "github_list_issues", Original: "list_issues", Description: "List issues of a repository, newest first", Size: -1},
			{Server: "github", Public: "github_search_code", Original: "search_code", Description: "Search code across repositories", Size: -1},
		},
		Prompts: []status.Item{
			{Server: "github", Public: "github_review", Original: "review", Title: "Review a pull request", Size: -1},
			{Server: "github", Public: "github_triage", Original: "triage", Title: "Sort new issues", Size: -1},
		},
		Resources: []status.Item{
			{Server: "files", Public: "resource://files/file:///home/ada/notes/milk.md", Original: "file:///home/ada/notes/milk.md", Name: "milk.md", MIMEType: "text/markdown", Size: 412,
				Description: "What to buy", Raw: `{"uri":"resource://files/file:///home/ada/notes/milk.md","name":"milk.md","mimeType":"text/markdown","size":412,"annotations":{"audience":["user"],"priority":0.8}}`},
			{Server: "files", Public: "resource://files/file:///home/ada/notes/plan.pdf", Original: "file:///home/ada/notes/plan.pdf", Name: "plan.pdf", MIMEType: "application/pdf", Size: 2480331},
			{Server: "files", Public: "resource://files/file:///home/ada/notes/todo.md", Original: "file:///home/ada/notes/todo.md", Name: "todo.md", MIMEType: "text/markdown", Size: 18204},
			{Server: "memory", Public: "resource://memory/memory://graph", Original: "memory://graph", Name: "The whole graph", MIMEType: "application/json", Size: -1},
		},
		Templates: []status.Item{
			{Server: "files", Public: "resource://files/file:///{+path}", Original: "file:///{+path}", Name: "file", Description: "Any file below the notes", Size: -1},
			{Server: "github", Public: "resource://github/repo://{owner}/{repo}/contents{/path*}", Original: "repo://{owner}/{repo}/contents{/path*}", Name: "contents", MIMEType: "text/plain", Description: "A file of a repository", Size: -1},
		},
	}
}

func sampleEvents() []status.Event {
	at := func(s float64) time.Time { return noon.Add(-time.Duration(s * 1e9)) }
	return []status.Event{
		{Number: 1, Time: at(11520), Level: "INFO", Message: "server is ready", Server: "files", Fields: "replica=0 protocol=2025-11-25 incarnation=1"},
		{Number: 2, Time: at(11519.4), Level: "INFO", Message: "server is ready", Server: "github", Fields: "replica=0 protocol=2026-07-28 incarnation=1"},
		{Number: 3, Time: at(660.2), Level: "WARN", Message: "server is not available", Server: "github", Fields: "replica=1 was=ready reason=connection lost"},
		{Number: 4, Time: at(22.5), Level: "WARN", Message: "server is not available", Server: "issues", Fields: "replica=0 was=handshaking reason=process exited with code 1; stderr: Error: ISSUES_TOKEN is not set"},
		{Number: 5, Time: at(1.25), Level: "ERROR", Message: "configuration not reloaded: fix the file and save it again", Fields: "err=mcpServers.old.command: empty"},
	}
}

const sampleMetrics = `# TYPE goblin_calls_total counter
goblin_calls_total{server="files",method="tools/call",outcome="ok"} 20311
goblin_calls_total{server="github",method="tools/call",outcome="error"} 12
goblin_call_seconds_bucket{server="files",method="tools/call",le="0.001"} 19000
goblin_call_seconds_count{server="files",method="tools/call"} 20311
goblin_in_flight{server="github"} 2
go_goroutines 88
`
