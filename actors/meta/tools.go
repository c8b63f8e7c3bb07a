package meta

import (
	"context"
	"encoding/json"
)

// The tools that admission unwraps.
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
	run        func(context.Context, *access, arguments) (any, error) // nil: admission unwraps the tool
}

// The output schemas. They are short because they make up half of what an agent reads if only these tools are listed.
const (
	cardsSchema       = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}},"total":{"type":"integer"},"next":{"type":"string"}},"required":["items","total"]}`
	descriptionSchema = `{"type":"object","properties":{"server":{"type":"string"},"definition":{"type":"object"}},"required":["server","definition"]}`
	statusSchema      = `{"type":"object","properties":{"servers":{"type":"array","items":{"type":"object"}}},"required":["servers"]}`
)

// anyCall is the annotation of call_tool: the inner tool may do anything.
const anyCall = `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`

func tools() []tool {
	server, after := optionalText("server", "only items of this server"), optionalText("after", "value of next on the previous page")
	mimeType := optionalText("mimeType", "only items of this type, e.g. text/plain or image/*")
	limit := argument{"limit", property{Description: "maximum number of items", Minimum: 1, Maximum: maxPage, Type: "integer"}, false}
	kinds := argument{"kinds", property{Description: "only items of these kinds", Items: &oneOf{kindNames[:], "string"}, Type: "array"}, false}
	query := requiredText("query", "words to look for")
	call := define(CallTool, "Call any tool by its name from a card or a search. Describe it first to learn its arguments.", "",
		requiredText("name", "name of the tool"), argument{"arguments", property{Description: "its arguments", Properties: new(struct{}), Type: "object"}, false})
	call.Annotations = json.RawMessage(anyCall)
	return []tool{
		{define("catalog_tools", "List tools as cards: name, one line, server.", cardsSchema, server, after, limit), catalogTools},
		{define("catalog_prompts", "List prompts as cards: name, one line, server.", cardsSchema, server, after, limit), catalogPrompts},
		{define("catalog_resources", "List resources as cards: uri, name, type, size, server.", cardsSchema, server, mimeType, after, limit), catalogResources},
		{define("catalog_resource_templates", "List resource templates as cards: uriTemplate, name, one line, server.", cardsSchema, server, after, limit), catalogTemplates},
		{define("describe_tool", "Return the whole definition of a tool, with its input schema.", descriptionSchema, requiredText("name", "name of the tool")), describeTool},
		{define("describe_prompt", "Return the whole definition of a prompt, with its arguments.", descriptionSchema, requiredText("name", "name of the prompt")), describePrompt},
		{define("describe_resource", "Return the whole definition of a resource, or of the template that matches its URI.", descriptionSchema, requiredText("uri", "URI of the resource")), describeResource},
		{define(searchCatalog, "Find tools, prompts, resources and templates of all servers by words; the best matches first. Start here.", cardsSchema,
			query, kinds, server, limit), runSearchCatalog},
		{define(searchResources, "Find resources by words; the best matches first.", cardsSchema, query, mimeType, limit), runSearchResources},
		{call, nil},
		{define(ReadResource, "Read a resource by its URI, listed or made from a template.", "", requiredText("uri", "URI of the resource")), nil},
		{define(serverStatusTool, "List the servers with the number of items of each, and say which are unavailable and why.", statusSchema), serverStatus},
	}
}
