package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"goblin-actor/internal/status"
)

// maxAnswer limits the part of an answer that is shown, in bytes.
const maxAnswer = 256 << 10

// result is how a use ended: with an answer, or with an error that says why there is none.
type result struct {
	answer status.UseResult
	err    error    // why there is no answer
	failed bool     // the tool's result is marked as an error
	lines  []string // the answer for display
}

func resultOf(answer status.UseResult, err error) result {
	r := result{answer: answer, err: err}
	var verdict struct {
		IsError bool `json:"isError"`
	}
	r.failed = json.Unmarshal(answer.Result, &verdict) == nil && verdict.IsError
	r.lines = lines(r.text())
	return r
}

// text returns the result for display: why there is no answer, otherwise the JSON-RPC error, otherwise the answer's texts or, if it
// has other parts, its JSON.
func (r *result) text() string {
	switch {
	case errors.Is(r.err, context.Canceled):
		return "canceled; the server may have executed a part of it"
	case r.err != nil:
		return shortened(r.err.Error())
	case r.answer.Error != nil:
		return shortened(indented(string(r.answer.Error)))
	}
	if text := contents(r.answer.Result); text != "" {
		return shortened(text)
	}
	var b bytes.Buffer
	if json.Indent(&b, r.answer.Result, "", "  ") != nil {
		return shortened(string(r.answer.Result))
	}
	return shortened(b.String())
}

func shortened(text string) string {
	if len(text) <= maxAnswer {
		return text
	}
	return cutAt(text, maxAnswer) + "; use the command line"
}

// cutAt cuts a text that is longer than most bytes, and appends a line that says so.
func cutAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "\n… the rest is not shown"
}

// block is a part of a result. MCP 2025-11-25, server/tools, server/resources, server/prompts.
type block struct {
	Type    string          `json:"type"`
	Text    *string         `json:"text"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// contents returns the texts of a result, or "" if it has other parts.
func contents(result []byte) string {
	var r struct {
		Content    []block         `json:"content"`
		Contents   []block         `json:"contents"`
		Messages   []block         `json:"messages"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	var texts []string
	for _, b := range r.Messages {
		var inner block
		if json.Unmarshal(b.Content, &inner) != nil || inner.Text == nil {
			return ""
		}
		texts = append(texts, b.Role+":\n"+*inner.Text)
	}
	for _, b := range append(r.Content, r.Contents...) {
		if b.Text == nil {
			return ""
		}
		texts = append(texts, *b.Text)
	}
	return strings.Join(texts, "\n\n")
}
