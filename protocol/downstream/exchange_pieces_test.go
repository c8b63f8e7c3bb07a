package downstream

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol/stream"
)

// An answer in pieces arrives like an answer in one piece, over every transport.
func TestAnswerInPieces(t *testing.T) {
	const eventsHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
	text := strings.Repeat("0123456789abcdef", 20<<10)
	frame := `{"jsonrpc":"2.0","id":1,"result":{"text":"` + text + `"}}`
	for _, test := range []struct {
		name, head, message, want string
		after                     time.Duration
	}{
		{"JSON", postHead, ping, frame, 0},
		{"JSON only, late", jsonOnlyHead, ping, frame, time.Minute},
		{"events only", eventsHead, ping, event(frame), 0},
		{"late, as a stream", postHead, ping, ":\n\n" + event(frame), 6 * time.Second},
		{"in a batch", postHead, "[" + ping + "]", "[" + frame + "]", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				budget := stream.NewBudget(8 << 20)
				answer := func(x *Exchange) {
					raw := []byte(frame)
					x.AnswerPieces([][]byte{raw[:22], raw[22:23], []byte(`,"result":{"text":"`), raw[42 : len(raw)-2], []byte("}}")}, false, nil)
				}
				handler := handlerFunc{post: func(x *Exchange) {
					time.AfterFunc(test.after, func() {
						if x.Batch == nil {
							answer(x)
							return
						}
						members, err := x.Split()
						if err != nil {
							t.Error(err)
						}
						for _, member := range members {
							answer(member)
						}
					})
				}}
				c := servePipe(t, handler, Options{Budget: budget}, testLimits)()
				for range 2 { // the connection can be reused
					go c.send(test.head + "Content-Length: " + itoa(len(test.message)) + "\r\n\r\n" + test.message)
					r, body := c.body()
					if r.StatusCode != 200 || body != test.want {
						t.Fatalf("%d, %d bytes %.80q, want %d bytes %.80q", r.StatusCode, len(body), body, len(test.want), test.want)
					}
				}
				synctest.Wait()
				if used := budget.Used(); used != 0 {
					t.Errorf("the budget still counts %d bytes", used)
				}
			})
		})
	}
}

// If the client has left, pieces are dropped and their budget is returned.
func TestPiecesAfterClientLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := stream.NewBudget(8 << 20)
		piece := bytes.Repeat([]byte("x"), 1<<20)
		handler := handlerFunc{post: func(x *Exchange) {
			x.OnGone(func() { x.AnswerPieces([][]byte{piece, piece}, false, nil) })
		}}
		c := servePipe(t, handler, Options{Budget: budget}, testLimits)()
		c.send(postText(ping))
		time.Sleep(time.Second)
		c.Close()
		synctest.Wait()
		if used := budget.Used(); used != 0 {
			t.Errorf("the budget still counts %d bytes", used)
		}
	})
}
