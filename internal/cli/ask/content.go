package ask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/decode"
)

// block is a content block of a result, or the contents of a resource.
type block struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	Data     string          `json:"data"` // base64 of an image or audio
	Blob     *string         `json:"blob"` // base64 of a resource
	MIMEType string          `json:"mimeType"`
	URI      string          `json:"uri"`
	Name     string          `json:"name"`
	Resource json.RawMessage `json:"resource"` // embedded
}

// String formats the block for users: text, with control characters escaped, or one line that describes other content.
func (b block) String() string {
	switch {
	case b.Text != nil:
		return terminal.Clean(*b.Text)
	case b.Blob != nil:
		return about("blob", b.URI, b.MIMEType, *b.Blob)
	case b.Data != "":
		return about(b.Type, "", b.MIMEType, b.Data)
	case b.Type == "resource_link":
		return strings.TrimSpace(terminal.OneLine(b.URI, 0) + "  " + terminal.OneLine(b.Name, 0))
	case len(b.Resource) > 0:
		var inner block
		if json.Unmarshal(b.Resource, &inner) == nil {
			return inner.String()
		}
	}
	return "(" + terminal.OneLine(b.Type, 40) + ")"
}

// about describes base64 data.
func about(kind, uri, mime, data string) string {
	words := []string{kind}
	for _, w := range []string{terminal.OneLine(uri, 200), terminal.OneLine(mime, 80)} {
		if w != "" {
			words = append(words, w)
		}
	}
	return fmt.Sprintf("(%s, %d bytes; -o json shows it)", strings.Join(words, ", "), base64.StdEncoding.DecodedLen(len(data)))
}

// readResult decodes a server's result. Its error says what is wrong with the result, and its hint how to display it.
func readResult(raw []byte, v any) error {
	if err := decode.JSON(raw, "the result", v); err != nil {
		return command.Fail(command.ExitFailed, err, "add -o json to print the result unchanged")
	}
	return nil
}

// printToolResult prints the content blocks, each on its own lines. If there is only structuredContent, it prints that
// as JSON.
func printToolResult(w io.Writer, raw []byte) error {
	var result struct {
		Content    []block         `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := readResult(raw, &result); err != nil {
		return err
	}
	if len(result.Content) == 0 && len(result.Structured) > 0 {
		return output.JSON.Write(w, result.Structured)
	}
	for _, b := range result.Content {
		if err := printLines(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// printLines prints text and ends it with a newline if it has none.
func printLines(w io.Writer, text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
