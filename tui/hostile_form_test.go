package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// quoted returns a JSON string with the bytes of s, also those that are not UTF-8.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case c < ' ':
			fmt.Fprintf(&b, "\\u%04x", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// template returns a JSON text in which each $ is a JSON string of s.
func template(text, s string) string { return strings.ReplaceAll(text, "$", quoted(s)) }

// itemName returns as much of x as a name, a URI or a template can have. The gateway drops items with longer ones.
func itemName(x string) string { return x[:min(len(x), 16<<10-100)] }

// hostileForms are forms, questions and answers with texts of servers and of the user. Each is given a text.
var hostileForms = map[string]func(x string) formScreen{
	"names": func(x string) formScreen {
		x = itemName(x)
		return formScreen{item: func(items *status.Items, definition string) string {
			items.Tools = append(items.Tools, status.Item{Server: x, Public: "a" + x, Title: x, Description: x, Raw: definition, Size: -1})
			return "2r"
		}, keys: "Innsbruck<tab>3<ctrl-r>y", sent: true}
	},
	"fields": func(x string) formScreen {
		return formScreen{definition: template(`{"inputSchema":{"required":[$],"properties":{$:{"type":"string","description":$,"default":$,"format":$,"pattern":$},
			"b":{"type":$,"description":$,"default":{"x":$}},"c":{"enum":[$,"x"],"description":$},"d":{"$ref":$},"e":{"anyOf":[{"enum":[$]},{"type":"object"}]}}}}`, x),
			keys: "<up>x<down>y<ctrl-r>n"}
	},
	"prompt": func(x string) formScreen {
		x = itemName(x)
		return formScreen{item: aPrompt, definition: template(`{"arguments":[{"name":$,"description":$,"required":true},{"name":"b"}]}`, x), keys: "x<tab>y"}
	},
	"prompt's answer": func(x string) formScreen {
		return formScreen{item: aPrompt, definition: `{"name":"p"}`, keys: "<ctrl-r>", sent: true, answer: template(`{"messages":[{"role":$,"content":{"type":"text","text":$}}]}`, x)}
	},
	"resource": func(x string) formScreen {
		return formScreen{item: func(items *status.Items, _ string) string {
			items.Resources = append(items.Resources, status.Item{Server: itemName(x), Public: "a:" + itemName(x), Name: itemName(x), Description: itemName(x), Size: -1})
			return "4r"
		}, sent: true, answer: template(`{"contents":[{"uri":$,"text":$}]}`, x)}
	},
	"template": func(x string) formScreen {
		return formScreen{item: aTemplate, definition: "a:{" + itemName(x)[:len(itemName(x))/2] + "}" + itemName(x)[:len(itemName(x))/2], keys: "x<ctrl-y>"}
	},
	"answer":            answerOf(`{"content":[{"type":"text","text":$},{"type":"text","text":$}]}`),
	"answer as JSON":    answerOf(`{"content":[{"type":$,"data":$}],"structuredContent":{$:[$]}}`),
	"answer, an error":  answerOf(`{"isError":true,"content":[{"type":"text","text":$}]}`),
	"answer, no object": answerOf(`$`),
	"error": func(x string) formScreen {
		return formScreen{item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, wrong: template(`{"code":1,"message":$,"data":{$:$}}`, x)}
	},
	"progress": eventsOf(func(x string) []status.UseEvent { return []status.UseEvent{progress(1, 3, x), progress(2, 3, x)} }),
	"question": eventsOf(func(x string) []status.UseEvent {
		return []status.UseEvent{asked("q", x, template(`{"required":[$,"b"],"properties":{$:{"type":"string","title":$,"description":$,"default":$,"format":$,"pattern":$,"minLength":3},
			"b":{"type":"string","enum":[$,"x"],"enumNames":[$,$]},"c":{"type":"string","oneOf":[{"const":$,"title":$}],"default":$},
			"d":{"type":"array","items":{"anyOf":[{"const":$,"title":$}]}},"e":{"type":$}}}`, x)), asked("r", x, `{}`)}
	}),
	"question with a bad schema": eventsOf(func(x string) []status.UseEvent {
		return []status.UseEvent{asked("q", x, template(`{"properties":{$:{"type":7}}}`, x))}
	}),
	"page": eventsOf(func(x string) []status.UseEvent {
		return []status.UseEvent{{Question: &status.UseQuestion{ID: "q", Message: x, URL: "https://example.com/" + x}}}
	}),
	"page's host": eventsOf(func(x string) []status.UseEvent {
		return []status.UseEvent{{Question: &status.UseQuestion{ID: "q", Message: x, URL: "https://" + x + "/"}}}
	}),
	"pasted":          func(x string) formScreen { return formScreen{paste: x, keys: "<tab>3<backtab>"} },
	"pasted and sent": func(x string) formScreen { return formScreen{paste: "In" + x, keys: "<tab>3<ctrl-r>"} },
}

func answerOf(text string) func(x string) formScreen {
	return func(x string) formScreen {
		return formScreen{item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, answer: template(text, x)}
	}
}

func eventsOf(events func(x string) []status.UseEvent) func(x string) formScreen {
	return func(x string) formScreen {
		return formScreen{item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: events(x)}
	}
}

// Whatever a server sends or a user pastes, a terminal shows exactly what the console has drawn, and receives nothing else.
func TestHostileForms(t *testing.T) {
	texts := append(nasty, "\u200b\u200d\u2060zero\u200b", "漢字かな", strings.Repeat("x", 10<<20), strings.Repeat("line\n", 100_000))
	for name, form := range hostileForms {
		for n, text := range texts {
			if len(text) > 1<<20 && strings.Contains("names prompt template", name) {
				continue // the gateway drops such items
			}
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				began := time.Now()
				c := form(text)
				s := c.open(t, 80, 24, Options{})
				copied := ""
				s.app.clipboard = func(text string) error { copied = text; return nil }
				for _, size := range [][2]int{{80, 24}, {120, 40}, {17, 7}} {
					i := newWire(t, size[0], size[1])
					i.shows(s.app, "opened")
					if size[0] != 80 {
						continue
					}
					for _, key := range []string{"<pgdn>", "<tab>", "x", "<up>", "<ctrl-r>", "<pgup>", "<ctrl-y>", "l", "<ctrl-y>", "t", "<ctrl-y>", "a", "c"} {
						s.press(key)
						i.shows(s.app, key)
						safe(t, copied)
					}
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("took %v, want at most 20s", took)
				}
			})
		}
	}
}

// Schemas that are deep, that refer to themselves, or that have very many parts neither block the console nor garble the screen.
func TestHostileSchemas(t *testing.T) {
	list := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	deep := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"x":`, n) + `{"type":"string"}` + strings.Repeat(`}}`, n)
	}
	for name, schema := range map[string]string{
		"few levels":       deep(20),
		"64 levels":        deep(31),
		"many levels":      deep(3000),
		"unions":           `{"properties":{"x":` + strings.Repeat(`{"anyOf":[`, 25) + `{"type":"string"}` + strings.Repeat(`]}`, 25) + `}}`,
		"loop":             `{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`,
		"500 fields":       manyFields(500)[len(`{"name":"t","inputSchema":`) : len(manyFields(500))-1],
		"500 required":     `{"required":[` + list(500, `"a"`) + `],"properties":{"a":{}}}`,
		"many values":      `{"properties":{"x":{"type":"string","enum":[` + list(20_000, `"a value"`) + `]}}}`,
		"large":            `{"properties":{"x":{"type":"string","description":"` + strings.Repeat("x", 2<<20) + `"}}}`,
		"same field twice": `{"properties":{"x":{"type":"string"},"x":{"type":"integer"}}}`,
		"odd types":        `{"required":[7],"properties":{"x":{"type":7},"y":{"enum":"x"},"z":[]}}`,
		"no object":        `[]`,
		"numbers":          `{"properties":{"x":{"type":"integer","minimum":1e400}}}`,
		"huge limits":      `{"properties":{"x":{"type":"number","minimum":-1e300,"maximum":1e300},"y":{"type":"string","minLength":1e300}}}`,
		"slow pattern":     `{"properties":{"x":{"type":"string","pattern":"(x+x+)+y"}}}`,
		"bad pattern":      `{"properties":{"x":{"type":"string","pattern":"("}}}`,
	} {
		for kind, c := range map[string]formScreen{
			"tool":     {item: aTool, definition: `{"name":"t","inputSchema":` + schema + `}`, keys: "<ctrl-r>n"},
			"question": eventsOf(func(string) []status.UseEvent { return []status.UseEvent{asked("q", "message", schema)} })(""),
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				began := time.Now()
				c.keys += "<up>1<down>x"
				s := c.open(t, 80, 24, Options{})
				s.app.PasteHandler()(strings.Repeat("x", 60_000), nil)
				i := newWire(t, 80, 24)
				i.shows(s.app, "opened")
				for _, key := range []string{"<up>", "<down>", "<ctrl-r>", "<esc>"} {
					s.press(key)
					i.shows(s.app, key)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("took %v, want at most 20s", took)
				}
			})
		}
	}
}
