package gatetest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Odd maps names of tools, prompts and resources to results that are valid JSON-RPC but violate MCP.
var Odd = map[string]string{
	"string": `"hello"`, "number": `17`, "array": `[1,2]`, "null": `null`, "boolean": `true`, "empty": `{}`,
	"textcontent": `{"content":"hello","contents":"hello","messages":"hello"}`,
	"numbers":     `{"content":[1],"contents":[1],"messages":[1]}`,
	"numbertext":  `{"content":[{"type":"text","text":5}],"contents":[{"uri":"odd:x","text":5}],"messages":[{"role":7,"content":5}]}`,
	"badblob":     `{"content":[{"type":"image","data":"***"}],"contents":[{"uri":"odd:x","blob":"***"}],"messages":[{"role":"user","content":[5]}]}`,
	"texterror":   `{"isError":"no","content":[]}`,
}

// oddDefinitions maps item names to invalid fields of the item's definition.
var oddDefinitions = map[string]string{
	"string":      `"title":5`,
	"number":      `"annotations":["a"]`,
	"array":       `"inputSchema":{"type":"object","properties":{"n":{"type":"int"},"required":["n"]}}`,
	"null":        `"inputSchema":{"type":{"a":1}},"arguments":5`,
	"boolean":     `"inputSchema":{"type":"object","required":"n"},"arguments":[{"name":5}]`,
	"empty":       `"description":{"a":1}`,
	"textcontent": `"arguments":{"a":1},"size":"large"`,
	"numbertext":  `"outputSchema":{"type":"array","items":7}`,
}

// ServeOdd runs an MCP server on in and out. In mode "items" each tool, prompt and resource returns a result of Odd,
// and most have an invalid definition. In mode "list-NAME" all lists return Odd[NAME]; in mode "init-NAME" initialize
// does.
func ServeOdd(mode string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
				URI  string `json:"uri"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || len(m.ID) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, oddAnswer(mode, m.Method, cmp.Or(m.Params.Name, strings.TrimPrefix(m.Params.URI, "odd:")))); err != nil {
			return err
		}
	}
	return lines.Err()
}

func oddAnswer(mode, method, item string) string {
	if name, ok := strings.CutPrefix(mode, "list-"); ok && strings.HasSuffix(method, "/list") {
		return `"result":` + Odd[name]
	}
	switch method {
	case "initialize":
		if name, ok := strings.CutPrefix(mode, "init-"); ok {
			return `"result":` + Odd[name]
		}
		return `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"odd","version":"1"}}`
	case "ping":
		return `"result":{}`
	case "tools/list", "prompts/list", "resources/list":
		kind := strings.TrimSuffix(method, "/list")
		return `"result":{"` + kind + `":[` + oddItems(kind) + `]}`
	case "tools/call", "prompts/get", "resources/read":
		if result, ok := Odd[item]; ok {
			return `"result":` + result
		}
	}
	return `"error":{"code":-32601,"message":"Method not found"}`
}

func oddItems(kind string) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(Odd)) {
		text := fmt.Sprintf(`{"name":%q`, name)
		if kind == "resources" {
			text = fmt.Sprintf(`{"uri":"odd:%s","name":%q`, name, name)
		}
		definition := oddDefinitions[name]
		if kind == "tools" && !strings.Contains(definition, "inputSchema") {
			text += `,"inputSchema":{"type":"object"}`
		}
		if definition != "" {
			text += "," + definition
		}
		items = append(items, text+"}")
	}
	return strings.Join(items, ",")
}

// internals matches texts of Go's decoders and names of Go types.
var internals = regexp.MustCompile(`json: |encoding/json|unmarshal|Go (value|struct)|struct ?\{|interface ?\{|map\[[a-z]+\]|RawMessage|\bmain\.[A-Za-z]|looking for beginning|unexpected end of JSON|illegal base64|strconv\.|reflect\.`)

// Internals returns the first part of a user-visible text that only a Go programmer understands, or "".
func Internals(text string) string { return internals.FindString(text) }
