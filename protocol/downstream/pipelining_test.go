package downstream

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Two requests in one write are both answered, in order. fasthttp holds back the first response while it has the
// second request, until the second response or, after SSEAfter, its stream begins (docs/rough-edges.md).
func TestPipelinedRequests(t *testing.T) {
	for _, test := range []struct {
		name  string
		more  []string      // further headers of the second request
		first time.Duration // when the first answer arrives
	}{
		{"the second may become a stream", nil, defaultSSEAfter},
		{"the second takes JSON only", []string{"Accept: application/json"}, time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connect := servePipe(t, handlerFunc{post: func(x *Exchange) {
					if string(x.Frame.IDBytes()) == "2" {
						time.AfterFunc(time.Minute, func() { echo(x) })
						return
					}
					echo(x)
				}}, Options{}, testLimits)
				c := connect()
				request := func(id string, headers ...string) string {
					text := postText(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping","params":{"x":`+id+`}}`, headers...)
					if len(headers) > 0 {
						text = strings.Replace(text, "Accept: application/json, text/event-stream\r\n", "", 1)
					}
					return text
				}
				began := time.Now()
				go c.send(request("1") + request("2", test.more...))
				_, first := c.body()
				if at := time.Since(began); at != test.first || !strings.Contains(first, `"x":1`) {
					t.Errorf("after %v %s, want the first answer after %v", at, first, test.first)
				}
				_, second := c.body()
				if at := time.Since(began); at != time.Minute || !strings.Contains(second, `"x":2`) {
					t.Errorf("after %v %s, want the second answer after a minute", at, second)
				}
			})
		})
	}
}
