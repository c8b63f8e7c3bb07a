package bench

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const modernVersion = "2026-07-28"

// newModernServer returns a server that answers in 2026-07-28.
func newModernServer(tools []string) *rawServer {
	modern := modernTail
	return &rawServer{
		discover: modern(`{"supportedVersions":["` + modernVersion + `"],"capabilities":{"tools":{}},"ttlMs":3600000,"cacheScope":"public"}`),
		list:     modern(`{"tools":[` + strings.Join(tools, ",") + `],"ttlMs":3600000,"cacheScope":"public"}`),
		small:    modern(textResult(smallBytes - 80)),
		big:      modern(textResult(bigBytes)),
		empty:    tail(`{}`),
	}
}

// modernTail returns the part of a 2026-07-28 response after the id, for the given result.
func modernTail(result string) []byte {
	return tail(`{"resultType":"complete",` + strings.TrimPrefix(result, "{"))
}

// newModernCall returns a POST of one tools/call. Without a session, it carries everything the server needs.
func newModernCall(host, path, tool string) *request {
	return newModernRequest(host, path, "tools/call", tool, strings.TrimSuffix(callParams(tool), "}"))
}

// newModernRequest returns a POST of one 2026-07-28 request. params lacks its closing brace. name is the item the request is about, or "".
func newModernRequest(host, path, method, name, params string) *request {
	if params != "{" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		firstID, method, params, modernVersion)
	own := "Mcp-Method: " + method + "\r\n"
	if name != "" {
		own += "Mcp-Name: " + name + "\r\n"
	}
	head := postHead(host, path, "", modernVersion, len(body))
	return requestOf(strings.Replace(head, "Content-Length:", own+"Content-Length:", 1), body)
}

// cells measures small calls through one gateway for all four combinations of client era and server era, separately for stdio and
// HTTP servers. The other cells are divided by the first one of each, legacy to legacy.
func (s *setup) cells(report *Report) error {
	servers := map[string]any{}
	for _, era := range []string{"legacy", "modern"} {
		args := []string{"server"}
		if era == "modern" {
			args = append(args, "--modern")
		}
		if s.o.HTTP > 0 {
			web, err := s.helper(args...)
			if err != nil {
				return err
			}
			servers["h"+era] = map[string]any{"url": web.url.String(), "type": "http", "maxConcurrent": 0}
		}
		if s.o.Stdio > 0 {
			args = append([]string{"bench"}, append(args, "--stdio")...)
			servers["s"+era] = map[string]any{"command": s.o.Program, "args": args, "maxConcurrent": 0}
		}
	}
	g, err := s.gateway(servers)
	if err != nil {
		return err
	}
	kinds := slices.DeleteFunc([]string{"h", "s"}, func(kind string) bool { return servers[kind+"legacy"] == nil })
	for _, kind := range kinds {
		var targets []*target
		for _, client := range []string{"legacy", "modern"} {
			for _, server := range []string{"legacy", "modern"} {
				t := cell(g.process, kind, client, server)
				if err := t.learn(); err != nil {
					return err
				}
				targets = append(targets, t)
			}
		}
		if s.planned == 0 {
			s.plan(len(kinds) * len(s.o.Concurrency) * turns(s.o, targets))
		}
		report.Bytes, report.Base = len(answerHead)+idDigits+len(targets[0].tail), "legacy"
		if err := s.rows(report, targets); err != nil {
			return err
		}
	}
	return nil
}

func cell(at *process, kind, client, server string) *target {
	tool := kind + server + "_echo"
	t := &target{
		name: fmt.Sprintf("%s client, %s %s server", client, server, map[string]string{"h": "HTTP", "s": "stdio"}[kind]),
		at:   at, method: "tools/call", params: []string{callParams(tool)}, scrape: true,
	}
	if client == "modern" {
		t.modern = tool
	}
	return t
}

// learn makes one call and keeps the part of the response after the id as the expected answer, because the gateway adds fields for
// the client's era. The answer must contain the server's content.
func (t *target) learn() error {
	if err := t.connect(1); err != nil {
		return err
	}
	defer t.disconnect()
	c := t.clients[0]
	body, err := c.exchange(c.request.next())
	if err := c.expect(t.name, 200, body, err); err != nil {
		return err
	}
	content := strings.Trim(textResult(smallBytes-80), "{}")
	if len(body) < len(answerHead)+idDigits || !bytes.Contains(body, []byte(content)) {
		return fmt.Errorf("%s: %.300q", t.name, body)
	}
	t.tail = slices.Clone(body[len(answerHead)+idDigits:])
	return nil
}
