package tui

import (
	"slices"
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
			{Name: "issues", State: "waiting", LastError: "process exited with code 1; stderr: Error: ISSUES_TOKEN is not set", LastErrorAt: ago(22 * time.Second), LastErrorTries: 9, Reason: "process exited with code 1; stderr: Error: ISSUES_TOKEN is not set", Hint: "the gateway retries by itself; run goblin-actor doctor for the cause, or goblin-actor restart issues to retry now", Replicas: 1,
				NextAttempt: noon.Add(7500 * time.Millisecond), Settled: true, FailedFirst: true},
			{Name: "memory", State: "ready", ReadyCount: 1, Replicas: 1, Resources: 1, Subscribed: 1, Subscribers: 1, Settled: true},
			{Name: "old", State: "disabled", Settled: true},
		},
		Backends: []status.Backend{
			{Server: "files", State: "ready", Catalog: true, Incarnation: 1, FirstNoise: "Listening on port 3000", Protocol: "2025-11-25", Transport: "stdio", PID: 41233, Since: ago(3 * time.Hour), InFlight: 1, Noise: 2,
				Stderr: []string{"Secure MCP Filesystem Server running on stdio"}},
			{Server: "github", State: "ready", Catalog: true, Incarnation: 1, Protocol: "2026-07-28", Transport: "http", Since: ago(3 * time.Hour), InFlight: 1},
			{Server: "github", Replica: 1, State: "ready", For: "clients that answer sampling", Incarnation: 4, Protocol: "2026-07-28", Transport: "http", Since: ago(11 * time.Minute), InFlight: 1},
			{Server: "issues", State: "waiting", Reason: "process exited with code 1; stderr: Error: ISSUES_TOKEN is not set", Catalog: true, Incarnation: 9, Tries: 9, Transport: "stdio", Since: ago(22 * time.Second),
				NextAttempt: noon.Add(7500 * time.Millisecond), Stderr: []string{"Error: ISSUES_TOKEN is not set", "Error: ISSUES_TOKEN is not set", "    at main (index.js:12)"}},
			{Server: "memory", State: "ready", Incarnation: 1, Protocol: "2025-06-18", Transport: "stdio", PID: 41240, Since: ago(3 * time.Hour)},
		},
		Sessions: []status.Session{
			{ID: "1ak3v7qd", Client: "editor 1.98.2", Protocol: "2025-11-25", Transport: "http", Since: ago(2 * time.Hour), LastSeen: ago(2 * time.Second), InFlight: 2, Streams: 1, Unsent: 421888, Dropped: 3},
			{ID: "1azz07pb", Client: "desktop 0.12", Protocol: "2025-06-18", Transport: "stdio", Since: ago(40 * time.Minute), LastSeen: ago(4 * time.Minute)},
			{ID: "listen/7", Client: "agent 2.1", Protocol: "2026-07-28", Transport: "http", Since: ago(70 * time.Second), LastSeen: ago(70 * time.Second), Streams: 1},
		},
		Calls: []status.Call{
			{ID: "session/1ak3v7qd/17", Session: "1ak3v7qd", Server: "github", Method: "tools/call", Item: "create_issue", State: "parked", In: 84, Taken: ago(48 * time.Second), Written: ago(48 * time.Second), Asked: ago(47 * time.Second), WaitsFor: "its user has not answered a form of 3 fields", Began: ago(48 * time.Second), Deadline: noon.Add(252 * time.Second)},
			{ID: "session/1ak3v7qd/18", Session: "1ak3v7qd", Server: "files", Method: "resources/read", Item: "file:///home/ada/notes/milk.md", State: "written", Began: ago(800 * time.Millisecond), Deadline: noon.Add(59 * time.Second)},
			{ID: "desk/0/4", Session: "desk", Client: "agent 2.1", Server: "github", Method: "tools/call", Item: "search_code", State: "written", Public: "github_search_code", Who: "ci", In: 1210, Taken: ago(2988 * time.Millisecond), Written: ago(2988 * time.Millisecond), WaitsFor: "the server", Progress: 4, Total: 10, Began: ago(3 * time.Second), Deadline: noon.Add(57 * time.Second)},
			{ID: "desk/1/2", Session: "desk", Client: "agent 2.1", Server: "github", Method: "tools/call", Item: "search_code", State: "queued", Began: ago(2 * time.Second)},
		},
		Subscriptions: []status.Subscription{
			{Session: "1ak3v7qd", Server: "files", URI: "resource://files/file:///home/ada/notes/milk.md", OwnURI: "file:///home/ada/notes/milk.md",
				Told: 2210, LastMinute: 12, Merged: 210, Last: ago(400 * time.Millisecond)},
			{Session: "listen/7", Server: "memory", URI: "resource://memory/memory://graph", OwnURI: "memory://graph"},
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
	s.Process = &status.Process{RSS: 61 << 20, CPU: .14, Goroutines: 88}
	p := &Picture{Snapshot: s, Items: sampleItems(), Events: sampleEvents(), Metrics: sampleMetrics, past: past{}.with(sampleFinished(), sampleLines())}
	p.rates = sampleSeries()
	p.access = sampleAccess()
	p.Usage = []status.ItemUsage{{Kind: "tool", Server: "files", Original: "read_file", Calls: 120_311, Failed: 120, Seconds: 481, Last: ago(200 * time.Millisecond)},
		{Kind: "tool", Server: "github", Original: "search_code", Calls: 310, Failed: 22, Seconds: 9.6, Last: ago(4 * time.Second)}}
	return p
}

// sampleSeries returns the last minute: files is busy, github slow, and calls of issues fail.
func sampleSeries() []status.Series {
	all := status.Series{Since: noon.Unix() - 11520, Until: noon.Unix()}
	files, github, issues := all, all, all
	files.Server, github.Server, issues.Server = "files", "github", "issues"
	bucket := func(seconds float64, n uint32) []status.Bucket {
		for i := range status.BucketCount {
			if status.BucketBound(i) >= seconds {
				return []status.Bucket{{Index: uint8(i), Count: n}}
			}
		}
		return nil
	}
	for i := range int64(60) {
		start := noon.Unix() - 60 + i
		n := uint32(200 + 4*i)
		one := status.Interval{Start: start, Calls: n, Errors: n / 200, Buckets: bucket(.0041, n), In: 88 << 10, Out: 1 << 20, Running: 1}
		files.Seconds = append(files.Seconds, one)
		two := status.Interval{Start: start, Calls: 3, Errors: uint32(i / 50), Buckets: bucket(.031, 3), In: 400, Out: 9 << 10, Queued: int32(i / 45)}
		github.Seconds = append(github.Seconds, two)
		sum := status.Interval{Start: start, Calls: n + 3, Errors: one.Errors + two.Errors, Buckets: append(slices.Clone(one.Buckets), two.Buckets...), In: one.In, Out: one.Out, Running: 3}
		if i < 20 {
			issues.Seconds = append(issues.Seconds, status.Interval{Start: start, Calls: 1, Errors: 1, Buckets: bucket(.0001, 1)})
			sum.Calls, sum.Errors = sum.Calls+1, sum.Errors+1
		}
		all.Seconds = append(all.Seconds, sum)
	}
	return []status.Series{all, files, github, issues}
}

// sampleFinished returns calls that have ended: most of them without errors.
func sampleFinished() []status.FinishedCall {
	at := func(s float64) time.Time { return noon.Add(-time.Duration(s * 1e9)) }
	all := []status.FinishedCall{
		{Session: "desk", Client: "agent 2.1", Server: "issues", Method: "tools/call", Item: "search", Public: "issues_search", Outcome: "unavailable", Code: "SERVER_UNAVAILABLE",
			Error: "server issues is not available: process exited with code 1", Began: at(29), Seconds: .0001, In: 98, Out: 210},
		{Session: "1ak3v7qd", Client: "editor 1.98.2", Server: "files", Method: "tools/call", Item: "write_file", Public: "files_write_file", Outcome: "tool_error", Error: "no space left on device",
			Began: at(62), Taken: at(62), Written: at(62), Answered: at(61.997), Seconds: .003, Backend: "0.1", Version: "2025-11-25", Peer: "2025-11-25", In: 5210, Out: 412},
		{Session: "desk", Client: "agent 2.1", Server: "", Method: "tools/call", Item: "files_red_file", Outcome: "failed", Code: "UNKNOWN_TOOL", Error: "unknown tool files_red_file; did you mean files_read_file?",
			Began: at(70), Seconds: .0001, In: 77},
		{Session: "1azz07pb", Client: "desktop 0.12", Server: "github", Method: "tools/call", Item: "list_issues", Public: "github_list_issues", Outcome: "cancelled", Code: "CANCELLED",
			Began: at(190), Taken: at(190), Written: at(190), Seconds: 12.2, Backend: "1.4", In: 66},
		{Session: "desk", Client: "agent 2.1", Server: "files", Method: "tools/call", Item: "read_file", Public: "files_read_file", Outcome: "ok",
			Began: at(27.0482), Taken: at(27.037), Written: at(27.0365), Answered: at(27.0019), Seconds: .0482, Backend: "0.1", Version: "2026-07-28", Peer: "2025-11-25", In: 120, Out: 4198},
	}
	for i := range 6 {
		began := at(20 - 3*float64(i))
		all = append(all, status.FinishedCall{Session: "1ak3v7qd", Client: "editor 1.98.2", Server: "github", Method: "tools/call", Item: "search_code", Public: "github_search_code", Outcome: "ok",
			Began: began, Taken: began, Written: began.Add(time.Millisecond), Answered: began.Add(31 * time.Millisecond), Seconds: .0314, Backend: "0.1", In: 140, Out: 9120})
	}
	slices.SortStableFunc(all, func(a, b status.FinishedCall) int { return endOf(&a).Compare(endOf(&b)) })
	for i := range all {
		all[i].Number = uint64(i + 1)
	}
	return all
}

// sampleLines returns lines that servers wrote.
func sampleLines() []status.Event {
	at := func(s float64) time.Time { return noon.Add(-time.Duration(s * 1e9)) }
	return []status.Event{
		{Number: 3, Time: at(11521), Level: status.LevelStderr, Message: "Secure MCP Filesystem Server running on stdio", Server: "files"},
		{Number: 7, Time: at(23), Level: status.LevelStderr, Message: "Error: ISSUES_TOKEN is not set", Server: "issues"},
		{Number: 8, Time: at(22.9), Level: status.LevelStderr, Message: "Error: ISSUES_TOKEN is not set", Server: "issues"},
		{Number: 9, Time: at(22.8), Level: status.LevelStderr, Message: "    at main (index.js:12)", Server: "issues"},
		{Number: 12, Time: at(4), Level: status.LevelLogged, Message: "warning: rate limit of the API nearly reached: 12 of 5000 requests left in this hour; searches are answered from the cache until 13:00", Server: "github"},
	}
}

func sampleItems() *status.Items {
	return &status.Items{Version: 41,
		Tools: []status.Item{
			{Server: "files", Public: "files_read_file", Original: "read_file", Name: "files_read_file", Description: "Read the complete contents of a file as text", ReadOnly: true, Size: -1,
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
# TYPE goblin_call_seconds histogram
goblin_call_seconds_bucket{server="files",method="tools/call",le="0.001"} 19000
goblin_call_seconds_bucket{server="files",method="tools/call",le="0.01"} 20300
goblin_call_seconds_bucket{server="files",method="tools/call",le="+Inf"} 20311
goblin_call_seconds_count{server="files",method="tools/call"} 20311
# TYPE goblin_in_flight gauge
goblin_in_flight{server="github"} 2
go_goroutines 88
`
