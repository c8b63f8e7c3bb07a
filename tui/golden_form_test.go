package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

// planTrip is a tool with fields of all kinds.
const planTrip = `{"name":"plan_trip","description":"Plan a trip and reserve what it needs","inputSchema":{"type":"object","required":["from","days"],"properties":{
	"from":{"type":"string","description":"where the trip begins","minLength":2},
	"days":{"type":"integer","minimum":1,"maximum":30},
	"budget":{"type":"number","minimum":0,"default":400},
	"train":{"type":"boolean","description":"no flights","default":true},
	"class":{"type":"string","enum":["first","second"],"default":"second"},
	"stops":{"type":"array","items":{"type":"string"},"description":"towns on the way"},
	"guests":{"type":"object","description":"names and ages"},
	"id":{"anyOf":[{"type":"integer"},{"type":"string"}]},
	"when":{"type":"string","format":"date"},
	"mail":{"$ref":"#/$defs/address"},
	"note":{"description":"anything that the guide should know, such as allergies, fear of heights, or a bicycle that has to come along on each train and each ferry"}},
	"$defs":{"address":{"type":"string","description":"an address"}}}}`

// interview is a question with fields of all kinds.
const interview = `{"type":"object","required":["name","topic","age"],"properties":{
	"name":{"type":"string","title":"Your name","minLength":2,"description":"as on the passport"},
	"topic":{"type":"string","default":"gold","enum":["gold","love","war"],"enumNames":["Gold","Love","War"]},
	"age":{"type":"integer","minimum":1,"maximum":120},
	"weight":{"type":"number"},
	"sure":{"type":"boolean","default":false},
	"omens":{"type":"array","minItems":1,"items":{"type":"string","enum":["crow","toad","moon"]}},
	"mail":{"type":"string","format":"email"},
	"born":{"type":"string","format":"date"},
	"tribe":{"type":"string","oneOf":[{"const":"h","title":"Hill goblins"},{"const":"c","title":"Cave goblins"}]}}}`

// formScreen is a golden screen of a form.
type formScreen struct {
	name       string
	item       formItemOf        // nil = a tool
	definition string            // "" = planTrip
	keys       string            // after the form was opened
	paste      string            // before the keys
	events     []status.UseEvent // the call reports these; with any of them it does not end
	answer     string            // result of the call; "" = a text
	wrong      string            // error of the call: "" = none; "lost" = no response
	sent       bool              // the keys send the call, whose events and answer are awaited
	after      string            // keys after that
}

// formItemOf adds an item to a catalog and returns the keys that open its form.
type formItemOf func(items *status.Items, definition string) (keys string)

func aTool(items *status.Items, definition string) string {
	items.Tools = append(items.Tools, status.Item{Server: "trips", Public: "trips_plan_trip", Description: "Plan a trip and reserve what it needs", Raw: definition, Size: -1})
	return "2r"
}

func aReadOnlyTool(items *status.Items, definition string) string {
	keys := aTool(items, definition)
	items.Tools[0].ReadOnly = true
	return keys
}

func aPrompt(items *status.Items, definition string) string {
	items.Prompts = append(items.Prompts, status.Item{Server: "trips", Public: "trips_review", Title: "Review a trip", Raw: definition, Size: -1})
	return "3r"
}

func aResource(items *status.Items, _ string) string {
	items.Resources = append(items.Resources, status.Item{Server: "trips", Public: "resource://trips/file:///trips/alps.md", Name: "alps.md", MIMEType: "text/markdown", Size: 412})
	return "4r"
}

func aTemplate(items *status.Items, definition string) string {
	items.Templates = append(items.Templates, status.Item{Server: "trips", Public: definition, Name: "a trip", Description: "A trip by place and day", Size: -1})
	return ":templates<enter>r"
}

// progress returns an event that reports a call's progress.
func progress(done, total float64, message string) status.UseEvent {
	return status.UseEvent{Progress: &status.UseProgress{Done: done, Total: total, Message: message}}
}

// open shows the form on a terminal, sends it if the case says so, and presses its keys.
func (c *formScreen) open(t *testing.T, w, h int, o Options) *testConsole {
	t.Helper()
	s := newTestConsole(t, w, h, o)
	t.Cleanup(s.app.stop)
	began := make(chan status.Use, 1)
	s.app.source = &user{used: began, replies: make(chan status.UseAnswer, 9), answer: func(ctx context.Context, tell func(status.UseEvent)) (status.UseResult, error) {
		for _, e := range c.events {
			tell(e)
		}
		switch {
		case len(c.events) > 0:
			<-ctx.Done()
			return status.UseResult{}, ctx.Err()
		case c.wrong == "lost":
			return status.UseResult{}, errors.New("connect to the gateway: " + errGone.Error())
		case c.wrong != "":
			return status.UseResult{Error: json.RawMessage(c.wrong)}, nil
		case c.answer != "":
			return status.UseResult{Result: json.RawMessage(c.answer)}, nil
		}
		return status.UseResult{Result: json.RawMessage(`{"content":[{"type":"text","text":"Day 1: Innsbruck\nDay 2: Brenner\nDay 3: Verona"}]}`)}, nil
	}}
	p := *samplePicture()
	p.Items = &status.Items{Version: 99}
	item, definition := c.item, c.definition
	if item == nil {
		item = aTool
	}
	if definition == "" {
		definition = planTrip
	}
	keys := item(p.Items, definition)
	s.app.take(&p)
	s.press(keys)
	if c.paste != "" {
		s.app.PasteHandler()(c.paste, nil)
	}
	s.press(c.keys)
	if c.sent {
		<-began
		for range max(1, len(c.events)) {
			s.happen()
		}
		s.now = s.now.Add(questionGuard)
	}
	s.press(c.after)
	return s
}

// TestFormScreens compares the screens of forms, of questions and of answers with golden files, on terminals of two sizes.
func TestFormScreens(t *testing.T) {
	const filled = "Innsbruck<tab>3<tab>250.5<tab><tab><tab><enter><left>\"Brenner\",\"Verona\"<tab>"
	ask := func(schema string) status.UseEvent {
		return asked("q1", "Before the trip is planned, the guide has some questions.\nThe answers are kept for a day.", schema)
	}
	page := func(url string) status.UseEvent {
		return status.UseEvent{Question: &status.UseQuestion{ID: "q2", Message: "Please confirm the payment of 250.50.", URL: url}}
	}
	for _, c := range []formScreen{
		{name: "fields"},
		{name: "about", keys: "<up>"},
		{name: "faults", keys: "I<tab>31<tab>much<tab>maybe<tab>third<tab>Brenner<tab>{<tab><tab>tomorrow<tab><tab>x"},
		{name: "not-sent", keys: "Innsbruck<ctrl-r>"},
		{name: "command", keys: filled},
		{name: "long-value", paste: strings.Repeat("Innsbruck and ", 30) + "Verona", keys: "<tab>3"},
		{name: "copy", keys: filled + "<ctrl-y>"},
		{name: "asks", keys: "Innsbruck<tab>3<ctrl-r>"},
		{name: "asks-long", paste: strings.Repeat("Innsbruck and ", 60) + "Verona", keys: "<tab>3<ctrl-r>"},
		{name: "canceled", keys: "Innsbruck<tab>3<ctrl-r>n"},
		{name: "progress", keys: filled + "<ctrl-r>y", sent: true, events: []status.UseEvent{progress(2, 5, "asking the railway")}},
		{name: "answer", keys: filled + "<ctrl-r>y", sent: true},
		{name: "answer-json", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, answer: `{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}`},
		{name: "answer-scrolled", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, after: "<pgdn>",
			answer: `{"content":[{"type":"text","text":"` + strings.Repeat(`a line of the answer\n`, 60) + `"}]}`},
		{name: "answer-empty", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, answer: `{"content":[]}`},
		{name: "answer-blank", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, answer: `{"content":[{"type":"text","text":""}]}`},
		{name: "tool-error", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, answer: `{"isError":true,"content":[{"type":"text","text":"no train on Sundays"}]}`},
		{name: "error", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, wrong: `{"code":-32603,"message":"server trips is not available: process exited with code 1","data":{"code":"SERVER_UNAVAILABLE"}}`},
		{name: "lost", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, wrong: "lost"},
		{name: "no-fields", definition: `{"name":"t"}`},
		{name: "no-definition", definition: `{"name":"t","inputSchema":{"type":"object","prop`},
		{name: "bad-definition", definition: `{"name":"t","inputSchema":{"type":"object","properties":7}}`},
		{name: "many", definition: manyFields(500), keys: "<up>"},
		{name: "prompt", item: aPrompt, definition: `{"name":"review","arguments":[{"name":"trip","description":"which trip","required":true},{"name":"tone","description":"such as strict or kind"}]}`, keys: "alps"},
		{name: "prompt-answer", item: aPrompt, definition: `{"name":"review"}`, keys: "<ctrl-r>", sent: true,
			answer: `{"messages":[{"role":"user","content":{"type":"text","text":"Review this trip:"}},{"role":"assistant","content":{"type":"text","text":"Which one?"}}]}`},
		{name: "resource", item: aResource, sent: true, answer: `{"contents":[{"uri":"file:///trips/alps.md","text":"# Alps\n\n- Innsbruck\n- Verona"}]}`},
		{name: "template", item: aTemplate, definition: "resource://trips/trip://{place}/{day}{?lang}", keys: "Monte Rosa<tab>3"},
		{name: "question", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{progress(1, 3, ""), ask(interview)}},
		{name: "question-faults", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{ask(interview)},
			after: "U<tab>4<tab>0<tab>heavy<tab>maybe<tab>owl<tab>me<tab>tomorrow<tab>d<ctrl-r>"},
		{name: "question-filled", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{ask(interview)},
			after: "Ugg<tab>3<tab>30<tab>80.5<tab>y<tab>crow,2<tab>u@example.com<tab>1996-03-01<tab>cave goblins"},
		{name: "question-without-fields", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{ask(`{}`), asked("q2", "more", `{}`)}},
		{name: "question-long", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{asked("q", strings.Repeat("The guide explains a rule. ", 100), interview)}},
		{name: "question-bad", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{ask(`{"properties":7}`)}},
		{name: "question-withdrawn", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{ask(interview), {Closed: "q1"}}},
		{name: "page", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{page("https://pay.example.com/orders/4711?amount=250.50")}},
		{name: "page-imitation", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{page("https://pаy.example.com/" + strings.Repeat("orders/", 30))}},
		{name: "page-bad", item: aReadOnlyTool, definition: `{"name":"t"}`, keys: "<ctrl-r>", sent: true, events: []status.UseEvent{page("javascript:alert(1)")}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			name := fmt.Sprintf("form-%s-%dx%d", c.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				s := c.open(t, size[0], size[1], Options{})
				got := strings.Join(s.draw(), "\n") + "\n\n" + s.styles()
				golden(t, filepath.Join("testdata", name+".txt"), got)
			})
		}
	}
}

// manyFields returns the definition of a tool with n arguments.
func manyFields(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"field_%d":{"type":"integer"}`, i)
	}
	return `{"name":"t","inputSchema":{"type":"object","properties":{` + strings.Join(fields, ",") + `}}}`
}
