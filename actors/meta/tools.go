package meta

import (
	"context"
	"encoding/json"
)

// The tools that are unwrapped at the edge.
const (
	CallTool     = "call_tool"
	ReadResource = "read_resource"
)

const (
	searchCatalog   = "search_catalog"
	searchResources = "search_resources"

	serverStatusTool = "server_status"
)

// searches reports whether a tool needs the index.
func searches(tool string) bool { return tool == searchCatalog || tool == searchResources }

type tool struct {
	definition definition
	run        func(context.Context, *asked, arguments) (any, error) // nil = it is unwrapped at the edge
}

// What the results look like. Short: in lists that hold nothing else these are half of what an agent reads.
const (
	cardsSchema       = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}},"total":{"type":"integer"},"next":{"type":"string"}},"required":["items","total"]}`
	descriptionSchema = `{"type":"object","properties":{"server":{"type":"string"},"definition":{"type":"object"}},"required":["server","definition"]}`
	statusSchema      = `{"type":"object","properties":{"servers":{"type":"array","items":{"type":"object"}}},"required":["servers"]}`
)

// anyCall is what call_tool is annotated with: the tool behind it may do anything.
const anyCall = `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`

func tools() []tool {
	server, after := text("server", "only of this server"), text("after", "go on: next of the page before")
	mimeType := text("mimeType", "only of this type, e.g. text/plain or image/*")
	limit := argument{"limit", property{Description: "items at most", Minimum: 1, Maximum: maxPage, Type: "integer"}, false}
	kinds := argument{"kinds", property{Description: "only of these kinds", Items: &oneOf{kindNames[:], "string"}, Type: "array"}, false}
	query := wanted("query", "words to look for")
	call := define(CallTool, "Call any tool by the name that a card or a search gave. Describe it first to know its arguments.", "",
		wanted("name", "name of the tool"), argument{"arguments", property{Description: "its arguments", Properties: new(struct{}), Type: "object"}, false})
	call.Annotations = json.RawMessage(anyCall)
	return []tool{
		{define("catalog_tools", "List tools as cards: name, one line, server.", cardsSchema, server, after, limit), catalogTools},
		{define("catalog_prompts", "List prompts as cards: name, one line, server.", cardsSchema, server, after, limit), catalogPrompts},
		{define("catalog_resources", "List resources as cards: uri, name, type, size, server.", cardsSchema, server, mimeType, after, limit), catalogResources},
		{define("catalog_resource_templates", "List resource templates as cards: uriTemplate, name, one line, server.", cardsSchema, server, after, limit), catalogTemplates},
		{define("describe_tool", "The whole definition of a tool, with its input schema.", descriptionSchema, wanted("name", "name of the tool")), describeTool},
		{define("describe_prompt", "The whole definition of a prompt, with its arguments.", descriptionSchema, wanted("name", "name of the prompt")), describePrompt},
		{define("describe_resource", "The whole definition of a resource, or of the template that its URI fits.", descriptionSchema, wanted("uri", "URI of the resource")), describeResource},
		{define(searchCatalog, "Find tools, prompts, resources and templates of all servers by words; the best first. Start here.", cardsSchema,
			query, kinds, server, limit), runSearchCatalog},
		{define(searchResources, "Find resources by words; the best first.", cardsSchema, query, mimeType, limit), runSearchResources},
		{call, nil},
		{define(ReadResource, "Read a resource by its URI, listed or made from a template.", "", wanted("uri", "URI of the resource")), nil},
		{define(serverStatusTool, "Which servers there are, what they have, and which of them are not available, and why.", statusSchema), serverStatus},
	}
}
