package catalog

import (
	"bytes"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
	"goblin-actor/protocol/rawjson"
)

// uiScheme is the scheme of MCP Apps pages. Hosts check it, so links to them keep it in every URI style.
const uiScheme = "ui://"

// linkPaths are the fields of a tool's _meta that name the page for displaying the tool's results: in MCP Apps, in the
// first draft of MCP Apps, and in OpenAI's Apps SDK.
var linkPaths = [][]string{{"ui", "resourceUri"}, {"ui/resourceUri"}, {"openai/outputTemplate"}}

// link is the URI of a UI page in a tool's _meta, as the server wrote it, and the URI's position in the tool's JSON.
type link struct {
	at  rawjson.Span
	uri string
}

// linksOf returns the links of a tool.
func linksOf(item *protocol.Item) (links []link) {
	meta := item.Meta.Of(item.Raw)
	if !bytes.Contains(meta, []byte("resourceUri")) && !bytes.Contains(meta, []byte("outputTemplate")) {
		return nil
	}
	for _, path := range linkPaths {
		span := item.Meta
		for _, key := range path {
			if value := span.Of(item.Raw); len(value) == 0 || value[0] != '{' {
				span = rawjson.Span{}
				break
			}
			span = rawjson.Member(item.Raw, span, key)
		}
		if uri, ok := rawjson.Unquote(span.Of(item.Raw)); ok && uri != "" && len(uri) <= maxName {
			links = append(links, link{span, uri})
		}
	}
	return links
}

// publicLinks returns the public URIs of the pages that a tool links to. Pages need not be listed (MCP Apps,
// discovery): the link of a tool is enough to make a page available.
func (v *View) publicLinks(it *item) (public []string) {
	for _, l := range it.parsed.links {
		to := l.uri
		switch listed := v.resources.owned[ownName{it.server.Name, l.uri}]; {
		case listed != nil && listed.entry != nil && strings.HasPrefix(listed.public, uiScheme) == strings.HasPrefix(l.uri, uiScheme):
			to = listed.public
		case strings.HasPrefix(l.uri, uiScheme):
			to = namespace.PrefixURI(it.server.Name, l.uri)
			if listed == nil {
				page := ownName{it.server.Name, l.uri}
				v.linked[page] = append(v.linked[page], it)
			}
		case listed != nil && listed.entry != nil:
			to = listed.public
		}
		public = append(public, to)
	}
	return public
}
