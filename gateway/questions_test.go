package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"goblin-actor/gateway"
)

// A server's request during a call goes to the Questions of the call. Without them it goes to those of the gateway.
// Without either it is refused.
func TestQuestions(t *testing.T) {
	answers := func(name string) *gateway.Questions {
		return &gateway.Questions{Elicit: func(context.Context, gateway.Elicitation) (gateway.Answer, error) {
			return gateway.Answer{Action: "accept", Content: map[string]any{"name": name, "topic": "war"}}, nil
		}}
	}
	ctx := within(t)
	for _, tt := range []struct {
		of, call *gateway.Questions
		want     string
	}{
		{answers("Ugg"), nil, "Ugg"},
		{answers("Ugg"), answers("Mog"), "Mog"},
		{nil, answers("Mog"), "Mog"},
		{nil, nil, "elicitation"},
	} {
		g := start(t, gateway.Config{Questions: tt.of}, "oracle")
		result, err := g.CallTool(ctx, "oracle_consult", nil, &gateway.CallOptions{Questions: tt.call})
		text := fmt.Sprint(err)
		if err == nil {
			text = result.Text()
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("got %q, want %q in it", text, tt.want)
		}
	}
}
