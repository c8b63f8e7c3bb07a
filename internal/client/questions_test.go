package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/demo"
)

// Several requests of the server are answered during a call. Error responses keep their codes.
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(t, demo.NewOracle(), Options{
			Capabilities: json.RawMessage(`{"elicitation":{},"sampling":{},"roots":{}}`),
			Answer: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
				switch method {
				case "elicitation/create":
					return json.RawMessage(`{"action":"accept","content":{"opinion":"dig"}}`), nil
				case "sampling/createMessage":
					return nil, &RPCError{Code: CodeRejected, Message: "no"}
				}
				return json.RawMessage("no JSON"), nil
			},
		})
		got, err := c.Call(t.Context(), "council", nil, nil)
		want := `The user says: dig\nThe model says: (the client refused: no (-1))\nThe client's roots: (the client refused: the answer is not valid JSON (-32603))`
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("council = %s, %v", got, err)
		}
	})
}

// A request of the server ends if it is withdrawn or the connection ends; a late answer is dropped. Too many open
// requests are refused.
func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 2*maxQuestions)
		refused := make(chan error, 2*maxQuestions)
		s := demo.New("nosy", "1")
		s.AddTool(demo.Tool{Name: "ask", Handle: func(c *demo.Call) (any, error) {
			for range maxQuestions + 1 {
				go func() {
					_, err := c.Ask("roots/list", struct{}{})
					refused <- err
				}()
			}
			return demo.Text("%v", <-refused), nil
		}})
		c := over(t, s, Options{Answer: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil, ctx.Err()
		}})
		got, err := c.Call(t.Context(), "ask", nil, nil)
		if err != nil || !strings.Contains(string(got), "too many open requests") {
			t.Errorf("ask = %s, %v", got, err)
		}
		synctest.Wait()
		f := actortest.Frame(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		c.received(&f)
		if cause := <-causes; cause != errWithdrawn {
			t.Errorf("withdrawn: %v", cause)
		}
		c.Close()
		for range maxQuestions - 1 {
			if cause := <-causes; !errors.Is(cause, ErrClosed) {
				t.Fatalf("closed: %v", cause)
			}
		}
		if len(causes) > 0 {
			t.Errorf("%d requests beyond the limit were passed on", len(causes))
		}
	})
}
