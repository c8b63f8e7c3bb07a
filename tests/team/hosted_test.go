package team

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// hosted is the MCP server with the login: echo returns "echo" and its text; slow sends a notification, waits for release, sends another and answers.
type hosted struct {
	begun   chan struct{}
	release chan struct{}
}

func newHosted() *hosted { return &hosted{begun: make(chan struct{}, 1), release: make(chan struct{})} }

const hostedTools = `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"slow","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`

func (h *hosted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments struct{ Text string }
			Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	result := `{}`
	switch m.Method {
	case "server/discover":
		http.Error(w, "no", http.StatusNotFound)
		return
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hosted","version":"1"}}`
	case "tools/list":
		result = hostedTools
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, "echo "+m.Params.Arguments.Text)
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	if m.Params.Name != "slow" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
		return
	}
	progress := `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}` + "\n\n"
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, progress, m.Params.Meta.ProgressToken, 1)
	w.(http.Flusher).Flush()
	h.begun <- struct{}{}
	<-h.release
	fmt.Fprintf(w, progress, m.Params.Meta.ProgressToken, 2)
	fmt.Fprintf(w, "data: %s\n\n", answer)
}
