package demo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"goblin-actor/protocol/namespace"
)

// Limits of the notebook.
const (
	maxNotes     = 1000
	maxNoteBytes = 64 << 10
)

const noteTemplate = "note:///{slug}"

// notebook is the state of the notes server, in memory only. Its mu is locked before the server's.
type notebook struct {
	server *Server

	mu    sync.Mutex
	notes map[string]note // by slug
}

type note struct{ Title, Text string }

// markdown returns the content of the note's resource.
func (n note) markdown() string { return "# " + n.Title + "\n\n" + n.Text + "\n" }

// NewNotes returns a notebook server with two notes.
func NewNotes() *Server {
	s := New("notes", "1.0.0")
	s.Instructions = "A notebook kept in memory. Every note is a resource note:///<slug>; the tools change notes, and clients are notified."
	b := &notebook{server: s, notes: map[string]note{}}
	b.put("welcome", note{"Welcome", "This notebook is a demo server built into goblin-actor.\nIt forgets everything when it stops."})
	b.put("groceries", note{"Groceries", "- mushrooms\n- lantern oil\n- a new shovel"})
	b.tools()
	s.AddTemplate(Template{
		URITemplate: noteTemplate, Name: "note", Title: "A note", Description: "One note by its slug.", MIMEType: "text/markdown",
		Match: func(uri string) bool {
			return strings.HasPrefix(uri, "note:///") && b.has(strings.TrimPrefix(uri, "note:///"))
		},
		Handle: b.read,
		Complete: func(argument, prefix string) []string {
			if argument != "slug" {
				return nil
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.slugs(prefix)
		},
	})
	s.AddPrompt(Prompt{
		Name: "summarize_notes", Title: "Summarize the notes", Description: "Ask for a summary of all notes.",
		Arguments: []PromptArgument{{Name: "style", Description: "style of the summary, such as brief or rhyming"}},
		Handle:    b.summarize,
		Complete: func(argument, prefix string) []string {
			if argument != "style" {
				return nil
			}
			return slices.DeleteFunc([]string{"brief", "detailed", "rhyming"}, func(v string) bool { return !strings.HasPrefix(v, prefix) })
		},
	})
	return s
}

func (b *notebook) tools() {
	b.server.AddTool(Tool{
		Name: "add_note", Title: "Add a note", Description: "Write a new note; its slug is derived from the title.",
		Input:       json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","description":"title of the note"},"text":{"type":"string","description":"Markdown"}},"required":["title","text"],"additionalProperties":false}`),
		Output:      json.RawMessage(`{"type":"object","properties":{"slug":{"type":"string"},"uri":{"type":"string"}},"required":["slug","uri"]}`),
		Annotations: json.RawMessage(`{"destructiveHint":false,"openWorldHint":false}`),
		Handle:      b.add,
	})
	b.server.AddTool(Tool{
		Name: "edit_note", Title: "Edit a note", Description: "Replace the text of a note.",
		Input:       json.RawMessage(`{"type":"object","properties":{"slug":{"type":"string"},"text":{"type":"string","description":"Markdown"}},"required":["slug","text"],"additionalProperties":false}`),
		Annotations: json.RawMessage(`{"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}`),
		Handle:      b.edit,
	})
	b.server.AddTool(Tool{
		Name: "delete_note", Title: "Delete a note", Description: "Delete a note permanently.",
		Input:       json.RawMessage(`{"type":"object","properties":{"slug":{"type":"string"}},"required":["slug"],"additionalProperties":false}`),
		Annotations: json.RawMessage(`{"destructiveHint":true,"openWorldHint":false}`),
		Handle:      b.remove,
	})
	b.server.AddTool(Tool{
		Name: "search_notes", Title: "Search the notes", Description: "Find the notes that contain all words of the query, in title or text.",
		Input:       json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"description":"maximum number of results; default 10"}},"required":["query"],"additionalProperties":false}`),
		Output:      json.RawMessage(`{"type":"object","properties":{"slugs":{"type":"array","items":{"type":"string"}}},"required":["slugs"]}`),
		Annotations: json.RawMessage(`{"readOnlyHint":true,"openWorldHint":false}`),
		Handle:      b.search,
	})
}

// put stores a note and its resource, so that the notebook and the resource list agree.
// The caller must hold mu, unless the notebook is not shared yet.
func (b *notebook) put(slug string, n note) {
	b.notes[slug] = n
	b.server.SetResource(Resource{
		URI: noteURI(slug), Name: slug, Title: n.Title, MIMEType: "text/markdown", Size: len(n.markdown()), Handle: b.read,
	})
}

func (b *notebook) has(slug string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.notes[slug]
	return ok
}

// slugs returns the slugs that start with prefix, sorted. The caller must hold mu.
func (b *notebook) slugs(prefix string) []string {
	all := slices.Sorted(maps.Keys(b.notes))
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

func (b *notebook) add(c *Call) (any, error) {
	var args struct {
		Title string `json:"title"`
		Text  string `json:"text"`
	}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	if strings.TrimSpace(args.Title) == "" {
		return nil, errors.New("title is required")
	}
	if len(args.Title)+len(args.Text) > maxNoteBytes {
		return nil, fmt.Errorf("a note may have at most %d bytes", maxNoteBytes)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.notes) >= maxNotes {
		return nil, fmt.Errorf("the notebook is full: %d notes", maxNotes)
	}
	slug := b.newSlug(args.Title)
	b.put(slug, note{args.Title, args.Text})
	r := Text("added %s", noteURI(slug))
	r.Structured = map[string]string{"slug": slug, "uri": noteURI(slug)}
	return r, nil
}

// newSlug returns an unused slug. The caller must hold mu.
func (b *notebook) newSlug(title string) string {
	base := cmp.Or(namespace.Slug(title), "note")
	slug := base
	for i := 2; ; i++ {
		if _, taken := b.notes[slug]; !taken {
			return slug
		}
		slug = fmt.Sprintf("%s-%d", base, i)
	}
}

func (b *notebook) edit(c *Call) (any, error) {
	var args struct {
		Slug string `json:"slug"`
		Text string `json:"text"`
	}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	if len(args.Text) > maxNoteBytes {
		return nil, fmt.Errorf("a note may have at most %d bytes", maxNoteBytes)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.notes[args.Slug]
	if !ok {
		return nil, b.unknown(args.Slug)
	}
	n.Text = args.Text
	b.put(args.Slug, n)
	return Text("edited %s", noteURI(args.Slug)), nil
}

func (b *notebook) remove(c *Call) (any, error) {
	var args struct {
		Slug string `json:"slug"`
	}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.notes[args.Slug]; !ok {
		return nil, b.unknown(args.Slug)
	}
	delete(b.notes, args.Slug)
	b.server.RemoveResource(noteURI(args.Slug))
	return Text("deleted %s", noteURI(args.Slug)), nil
}

func (b *notebook) search(c *Call) (any, error) {
	args := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: 10}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	if args.Limit < 1 {
		return nil, fmt.Errorf("limit must be 1 or more, got %d", args.Limit)
	}
	words := strings.Fields(strings.ToLower(args.Query))
	if len(words) == 0 {
		return nil, errors.New("query is required")
	}
	found := []string{}
	var text strings.Builder
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, slug := range slices.Sorted(maps.Keys(b.notes)) {
		n := b.notes[slug]
		hay := strings.ToLower(n.Title + "\n" + n.Text)
		if len(found) < args.Limit && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(hay, w) }) {
			found = append(found, slug)
			fmt.Fprintf(&text, "%s  %s\n", noteURI(slug), n.Title)
		}
	}
	if len(found) == 0 {
		text.WriteString("nothing found")
	}
	r := Text("%s", strings.TrimSuffix(text.String(), "\n"))
	r.Structured = map[string]any{"slugs": found}
	return r, nil
}

func (b *notebook) read(c *Call) (any, error) {
	slug := strings.TrimPrefix(c.Name, "note:///")
	b.mu.Lock()
	n, ok := b.notes[slug]
	b.mu.Unlock()
	if !ok {
		return nil, notFound(c.Name)
	}
	return ReadResult{[]ResourceText{{c.Name, "text/markdown", n.markdown()}}}, nil
}

func (b *notebook) summarize(c *Call) (any, error) {
	var args struct {
		Style string `json:"style"`
	}
	if err := c.Bind(&args); err != nil {
		return nil, &Error{Code: codeInvalidParams, Message: err.Error()}
	}
	var text strings.Builder
	text.WriteString("Summarize these notes")
	if args.Style != "" {
		fmt.Fprintf(&text, " in a %s style", args.Style)
	}
	text.WriteString(".\n")
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, slug := range slices.Sorted(maps.Keys(b.notes)) {
		text.WriteString("\n" + b.notes[slug].markdown())
	}
	return PromptResult{
		Description: "A summary of all notes",
		Messages:    []Message{{Role: "user", Content: Content{Type: "text", Text: text.String()}}},
	}, nil
}

// unknown returns the error for an unknown slug. The caller must hold mu.
func (b *notebook) unknown(slug string) error {
	return fmt.Errorf("no note %q; there are: %s", slug, strings.Join(b.slugs(""), ", "))
}

func noteURI(slug string) string { return "note:///" + slug }
