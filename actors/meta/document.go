package meta

import (
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Limits of the indexed text of one item, in bytes. Text beyond a limit is not found.
const (
	maxHeader     = 512     // of a name, a title, or the description of one parameter
	maxText       = 4 << 10 // of the description
	maxParameters = 1 << 10 // of the parameters' names, and separately of their descriptions and values
	maxNesting    = 3       // levels of nested objects in an input schema
)

// The fields of a document.
const (
	fieldName       = iota // the item's own name
	fieldTitle             // its title
	fieldSummary           // the first sentence of its description
	fieldText              // the rest of the description
	fieldParameters        // names of parameters; of a resource, its URI
	fieldDetails           // descriptions and allowed values of parameters
	fieldServer            // the server's name, and the item's name if it starts with that
	fields
)

// document is the text of an item: for each field, words separated by spaces.
type document [fields]string

func (d *document) size() (n int) {
	for _, text := range d {
		n += len(text)
	}
	return n
}

// documentOf returns the text under which an item is found.
func documentOf(e *catalog.Entry) (d document) {
	item, err := protocol.ParseItem(e.Source)
	if err != nil {
		return d // cannot happen: the catalog has parsed it
	}
	whole := e.Original[:min(len(e.Original), maxHeader)]
	own := withoutServer(whole, e.Server.Name)
	d[fieldName] = words(own)
	d[fieldTitle] = textOf(&item, item.Title, maxHeader)
	switch e.Kind {
	case protocol.Resources, protocol.Templates: // the original is a URI, which says less than the name
		d[fieldParameters] = d[fieldName]
		d[fieldName] = textOf(&item, item.Name, maxHeader)
	case protocol.Tools:
		if d[fieldTitle] == "" {
			d[fieldTitle] = textOf(&item, rawjson.Member(item.Raw, item.Annotations, "title"), maxHeader)
		}
	}
	summary, rest := firstSentence(unquoted(&item, item.Description, maxText))
	d[fieldSummary], d[fieldText] = words(summary), words(rest)
	var p parameters
	p.ofItem(&item)
	d[fieldParameters] += words(p.names.String())
	d[fieldDetails] = words(p.details.String())
	d[fieldServer] = words(e.Server.Name)
	if len(own) < len(whole) {
		d[fieldServer] += " " + words(whole)
	}
	return d
}

func unquoted(item *protocol.Item, span rawjson.Span, limit int) string {
	s, _ := rawjson.Unquote(span.Of(item.Raw)) // "" if absent or not a string
	return s[:min(len(s), limit)]
}

func textOf(item *protocol.Item, span rawjson.Span, limit int) string {
	return words(unquoted(item, span, limit))
}

// firstSentence splits a description after its first sentence or line.
func firstSentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	end := len(text)
	for _, stop := range []string{"\n", ". ", "! ", "? "} {
		if i := strings.Index(text[:end], stop); i >= 0 {
			end = i + len(stop)
		}
	}
	return text[:end], text[end:]
}

// parameters collects the names, descriptions and allowed values of the parameters of a tool or prompt.
type parameters struct {
	names, details strings.Builder
}

func (p *parameters) ofItem(item *protocol.Item) {
	p.ofSchema(item.Raw, item.InputSchema, maxNesting)
	whole := rawjson.Span{Off: 0, End: uint32(len(item.Raw))}
	for argument := range rawjson.Elements(item.Raw, rawjson.Member(item.Raw, whole, "arguments")) { // a prompt's
		if p.names.Len() >= maxParameters {
			return
		}
		name, _ := rawjson.Unquote(rawjson.Member(item.Raw, argument, "name").Of(item.Raw))
		p.add([]byte(name), item.Raw, argument)
	}
}

// ofSchema adds the properties of an object, or of the objects in an array.
func (p *parameters) ofSchema(raw []byte, schema rawjson.Span, levels int) {
	if levels == 0 || p.names.Len() >= maxParameters {
		return
	}
	for key, value := range rawjson.Members(raw, schema) {
		switch string(key) {
		case "items":
			p.ofSchema(raw, value, levels-1)
		case "properties":
			for name, property := range rawjson.Members(raw, value) {
				if p.names.Len() >= maxParameters {
					return
				}
				p.add(name, raw, property)
				p.ofSchema(raw, property, levels-1)
			}
		}
	}
}

func (p *parameters) add(name, raw []byte, parameter rawjson.Span) {
	p.names.Write(name[:min(len(name), maxHeader)])
	p.names.WriteByte(' ')
	for key, value := range rawjson.Members(raw, parameter) {
		switch string(key) {
		case "description":
			p.detail(raw, value)
		case "enum":
			for element := range rawjson.Elements(raw, value) {
				p.detail(raw, element)
			}
		}
	}
}

func (p *parameters) detail(raw []byte, text rawjson.Span) {
	if s, ok := rawjson.Unquote(text.Of(raw)); ok && p.details.Len() < maxParameters {
		p.details.WriteString(s[:min(len(s), maxHeader)])
		p.details.WriteByte(' ')
	}
}

// withoutServer removes the server's name from the start of an item's name: git_commit of the server git becomes commit.
func withoutServer(name, server string) string {
	if len(name) > len(server)+1 && strings.EqualFold(name[:len(server)], server) && isJoiner(rune(name[len(server)])) {
		return name[len(server)+1:]
	}
	return name
}
