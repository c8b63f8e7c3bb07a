package ask

import (
	"strings"
	"testing"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/config"
	"goblin-actor/internal/serving"
	"goblin-actor/protocol"
)

// Characters that a model reads but a user cannot see are made visible in definitions, JSON, YAML and both log formats.
func TestInvisibleCharactersAreShown(t *testing.T) {
	const hidden, seen = "safe\u200b\U000e0069\U000e0067", `safe\u200b\U000e0069\U000e0067`
	raw := []byte(`{"name":"t` + hidden + `","title":"` + hidden + `","description":"` + hidden + `","inputSchema":{"type":"object","properties":{"` +
		hidden + `":{"type":"string","description":"` + hidden + `"}},"required":["` + hidden + `"]}}`)
	item, err := protocol.ParseItem(raw)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := printDefinition(&b, described{protocol.Tools, item}); err != nil || strings.Count(b.String(), seen) != 5 {
		t.Errorf("describe prints %q, %v", b.String(), err)
	}
	shown := []string{b.String()}
	for _, f := range []output.Format{output.JSON, output.YAML} {
		b.Reset()
		if err := f.Write(&b, raw); err != nil {
			t.Error(err)
		}
		shown = append(shown, b.String())
	}
	for _, format := range []string{"text", "json"} {
		b.Reset()
		serving.NewLogger(config.Log{Level: "info", Format: format}, nil, &b).Warn("server is not available", "server", hidden, "reason", hidden)
		shown = append(shown, b.String())
	}
	for _, text := range shown {
		if strings.ContainsAny(text, "\u200b\U000e0069\U000e0067") || !strings.Contains(text, "safe") {
			t.Errorf("invisible characters in %q", text)
		}
	}
}
