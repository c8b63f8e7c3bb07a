package protocol

import (
	"testing"

	"goblin-actor/protocol/rawjson"
)

// All bytes outside the edits stay as they are.
func TestSpliceKeepsTheRest(t *testing.T) {
	const raw = `{ "vendor":[1,  2],"jsonrpc":"2.0", "id" : "a" ,"method":"tools/call","params":{"z":9007199254740993,"name":"files_read","arguments":{"html":"<>&\u003c","n":1.0e5,"n":2}}}`
	const want = `{ "vendor":[1,  2],"jsonrpc":"2.0", "id" : 17 ,"method":"tools/call","params":{"z":9007199254740993,"name":"read","arguments":{"html":"<>&\u003c","n":1.0e5,"n":2}}}`
	f := mustParse(t, raw)
	var p Params
	if err := p.Scan(f); err != nil {
		t.Fatal(err)
	}
	got := rawjson.AppendEdited(nil, f.Raw, rawjson.Edit{Span: p.Name, With: []byte(`"read"`)}, rawjson.Edit{Span: f.ID, With: []byte("17")})
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
