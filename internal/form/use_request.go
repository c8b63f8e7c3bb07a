package form

import (
	"encoding/json"
	"strings"

	"goblin-actor/internal/visible"
	"goblin-actor/protocol"
)

// useParams holds the parameters of the request that performs a Use.
type useParams struct {
	Meta      map[string]any  `json:"_meta,omitempty"`
	Name      string          `json:"name,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// request holds a JSON-RPC request.
type request struct {
	Version string    `json:"jsonrpc"`
	ID      int       `json:"id"`
	Method  string    `json:"method"`
	Params  useParams `json:"params"`
}

// Method returns the MCP method that performs the use.
func (u Use) Method() string {
	switch u.Verb {
	case Prompt:
		return protocol.MethodPromptsGet.String()
	case Read:
		return protocol.MethodResourcesRead.String()
	}
	return protocol.MethodToolsCall.String()
}

// VerbOf returns the verb that an MCP method stands for, or "".
func VerbOf(method string) Verb {
	switch protocol.ParseMethod([]byte(method)) {
	case protocol.MethodToolsCall:
		return Call
	case protocol.MethodPromptsGet:
		return Prompt
	case protocol.MethodResourcesRead:
		return Read
	}
	return ""
}

// JSONRPC returns the JSON-RPC request that performs the use in an MCP session, without hidden characters. It returns "" if
// the arguments are not valid JSON.
func (u Use) JSONRPC() string { return u.request(nil) }

func (u Use) request(meta map[string]any) string {
	p := useParams{Meta: meta, Name: u.Name, Arguments: u.arguments()}
	if u.Verb == Read {
		p = useParams{Meta: meta, URI: u.Name}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(request{"2.0", 1, u.Method(), p}); err != nil {
		return "" // the arguments are not valid JSON
	}
	return visible.JSON(strings.TrimSpace(b.String()))
}

// Curl returns the command for a POSIX shell that performs the use at the gateway with the given URL, without a session
// (protocol version 2026-07-28). The command contains no API key, so a gateway that requires one refuses the
// request.
func (u Use) Curl(url string) string {
	body := u.request(map[string]any{
		"io.modelcontextprotocol/protocolVersion":    protocol.Version20260728,
		"io.modelcontextprotocol/clientCapabilities": struct{}{},
	})
	words := []string{"curl", "-s", url}
	for _, h := range [][2]string{{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"},
		{protocol.HeaderVersion, protocol.Version20260728}, {protocol.HeaderMethod, u.Method()}, {protocol.HeaderName, protocol.EncodeHeaderValue(u.Name)}} {
		words = append(words, "-H", h[0]+": "+h[1])
	}
	words = append(words, "--data-raw", body)
	for i, w := range words {
		words[i] = Quote(w)
	}
	return strings.Join(words, " ")
}

// Archive returns the use as a txtar archive of three files: command, request.json and answer.json. It leaves out command
// if there is no command line, and answer.json if answer is empty. The lines of the archive have no hidden characters.
func (u Use) Archive(answer []byte) string {
	var b strings.Builder
	file := func(name, text string) {
		if text != "" {
			b.WriteString("-- " + name + " --\n" + text + "\n")
		}
	}
	file("command", u.CommandLine())
	file("request.json", u.JSONRPC())
	file("answer.json", visible.JSON(compact(answer)))
	return b.String()
}
