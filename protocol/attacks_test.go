package protocol

import "testing"

// A request whose Mcp-Name header differs from the name in its body is refused: an intermediary that checks only the
// header would permit a request for another item.
func TestAttack52NameInHeader(t *testing.T) {
	for _, c := range []struct {
		method, params, name string
		ok                   bool
	}{
		{"tools/call", `"name":"files_delete"`, "files_read", false}, {"tools/call", `"name":"files_delete"`, "", false},
		{"tools/call", `"name":"files_read"`, "files_read", true}, {"prompts/get", `"name":"purge"`, "ask", false},
		{"resources/read", `"uri":"file:///etc/passwd"`, "file:///ok", false}, {"tools/call", `"name":"files_read"`, "files_read, files_delete", false},
	} {
		f, p := &Frame{}, &Params{}
		raw := `{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":{` + c.params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Version20260728 + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
		if err := f.Parse([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if err := p.Scan(f); err != nil {
			t.Fatal(err)
		}
		values := map[string]string{HeaderVersion: Version20260728, HeaderMethod: c.method, HeaderName: c.name}
		fault := CheckModern(func(name string) string { return values[name] }, f, p)
		if c.ok != (fault == nil) || fault != nil && fault.Name != HeaderMismatch {
			t.Errorf("%s %s under Mcp-Name %q: %v", c.method, c.params, c.name, fault)
		}
	}
}
