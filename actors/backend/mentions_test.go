package backend

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// The resources that a result mentions are reported to the pool, at most maxMentioned.
func TestMentions(t *testing.T) {
	link := `{"type":"resource_link","uri":"a:link","name":"x"}`
	embedded := `{"type":"resource","resource":{"uri":"a:inside","text":"x"}}`
	many := strings.Repeat(link+",", 2*maxMentioned) + link
	for _, tt := range []struct {
		method protocol.Method
		result string
		want   []string
	}{
		{protocol.MethodToolsCall, `{"content":[` + link + `,{"type":"text","text":"a:text"},` + embedded + `]}`, []string{"a:link", "a:inside"}},
		{protocol.MethodToolsCall, `{"content":[{"type":"text","text":"x","uri":"a:odd"}]}`, nil}, // does not contain the word "resource"
		{protocol.MethodToolsCall, `{"content":[{"type":"resource","resource":"a:text"},{"type":"resource_link","uri":7},null,[]],"x":"resource"}`, nil},
		{protocol.MethodPromptsGet, `{"messages":[{"role":"user","content":` + embedded + `},{"role":"user","content":[` + link + `]}]}`, []string{"a:inside", "a:link"}},
		{protocol.MethodTasksResult, `{"content":[` + link + `]}`, []string{"a:link"}},
		{protocol.MethodTasksGet, `{"taskId":"1","result":{"content":[` + link + `]}}`, []string{"a:link"}},
		{protocol.MethodTasksGet, `{"taskId":"1","x":"resource"}`, nil},
		{protocol.MethodResourcesRead, `{"contents":[{"uri":"a:asked","text":"x"}]}`, nil},
		{protocol.MethodResourcesRead, `{"contents":[{"uri":"a:other","text":"x"}]}`, []string{"a:other"}},
		{protocol.MethodResourcesRead, `{"contents":[{"uri":"a:asked","text":"x"},{"uri":"a:beside","blob":""}]}`, []string{"a:beside"}},
		{protocol.MethodCompletionComplete, `{"content":[` + link + `]}`, nil},
		{protocol.MethodToolsCall, `{"content":[` + many + `]}`, slices.Repeat([]string{"a:link"}, maxMentioned)},
	} {
		f := actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"result":`+tt.result+`}`)
		r := &message.Request{Caller: &message.Caller{}, Item: "a:asked", Original: []byte(`"a:asked"`)}
		r.Frame.Method = tt.method
		s := newState(Options{}, kernel.Reference{}, new(uint64))
		var got []string
		for _, e := range s.mention(&pending{request: r}, &f, nil) {
			got = append(got, e.Msg.(message.ResourcesMentioned).URIs...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %.80s: %.100s, want %.100s", tt.method, tt.result, fmt.Sprint(got), fmt.Sprint(tt.want))
		}
	}
}
