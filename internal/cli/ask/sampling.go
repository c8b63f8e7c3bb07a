package ask

import (
	"encoding/json"
	"fmt"
	"strings"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/decode"
	"goblin-actor/internal/form"
)

// sampling holds the parts of a sampling request that the command uses. MCP 2025-11-25, client/sampling.
type sampling struct {
	System   string          `json:"systemPrompt"`
	Most     float64         `json:"maxTokens"`
	Tools    json.RawMessage `json:"tools"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

func parseSampling(params []byte) (sampling, error) {
	var s sampling
	if err := decode.JSON(params, "the params of sampling/createMessage", &s); err != nil {
		return s, err
	}
	if len(s.Tools) > 0 && string(s.Tools) != "null" {
		return s, fmt.Errorf("sampling/createMessage: the client did not declare sampling.tools")
	}
	return s, nil
}

// String formats the system prompt and the messages, each indented under its role, and the maximum number of tokens.
func (s sampling) String() string {
	var b strings.Builder
	part := func(role, text string) {
		b.WriteString(terminal.Indent(terminal.OneLine(role, 40) + ":\n" + terminal.Indent(text)))
	}
	if s.System != "" {
		part("system", s.System)
	}
	for _, m := range s.Messages {
		part(m.Role, strings.Join(blocks(m.Content), "\n"))
	}
	if s.Most > 0 {
		fmt.Fprintf(&b, "  (at most %g tokens)\n", s.Most)
	}
	return b.String()
}

// last returns the content of the last message, or "" if there is none.
func (s sampling) last() string {
	if len(s.Messages) == 0 {
		return ""
	}
	return strings.Join(blocks(s.Messages[len(s.Messages)-1].Content), " ")
}

// spoken returns the result of a sampling request with the user's text.
func spoken(text string) json.RawMessage {
	return fmt.Appendf(nil, `{"role":"assistant","content":{"type":"text","text":%s},"model":"a person at the terminal","stopReason":"endTurn"}`, form.Quoted(text))
}
