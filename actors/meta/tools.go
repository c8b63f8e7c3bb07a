package meta

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
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
	definition mcp.Tool
	run        func(context.Context, *asked, mcp.CallToolRequest) (any, error) // nil = it is unwrapped at the edge
}

// What the results look like. Short: in lists that hold nothing else these are half of what an agent reads.
const (
	cardsSchema       = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}},"total":{"type":"integer"},"next":{"type":"string"}},"required":["items","total"]}`
	descriptionSchema = `{"type":"object","properties":{"server":{"type":"string"},"definition":{"type":"object"}},"required":["server","definition"]}`
	statusSchema      = `{"type":"object","properties":{"servers":{"type":"array","items":{"type":"object"}}},"required":["servers"]}`
)

// define makes the definition of a tool that changes nothing and returns what the schema says.
func define(name, description, output string, options ...mcp.ToolOption) mcp.Tool {
	options = append(options, mcp.WithDescription(description), mcp.WithRawOutputSchema(json.RawMessage(output)), mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: new(true)}))
	return mcp.NewTool(name, options...)
}

// text is an argument that is a string; it may be left out.
func text(name, description string) mcp.ToolOption {
	return mcp.WithString(name, mcp.Description(description))
}

// wanted is one that may not.
func wanted(name, description string) mcp.ToolOption {
	return mcp.WithString(name, mcp.Required(), mcp.Description(description))
}

func tools() []tool {
	server, after := text("server", "only of this server"), text("after", "go on: next of the page before")
	mimeType := text("mimeType", "only of this type, e.g. text/plain or image/*")
	limit := mcp.WithInteger("limit", mcp.Min(1), mcp.Max(maxPage), mcp.Description("items at most"))
	query := wanted("query", "words to look for")
	return []tool{
		{define("catalog_tools", "List tools as cards: name, one line, server.", cardsSchema, server, after, limit), catalogTools},
		{define("catalog_prompts", "List prompts as cards: name, one line, server.", cardsSchema, server, after, limit), catalogPrompts},
		{define("catalog_resources", "List resources as cards: uri, name, type, size, server.", cardsSchema, server, mimeType, after, limit), catalogResources},
		{define("catalog_resource_templates", "List resource templates as cards: uriTemplate, name, one line, server.", cardsSchema, server, after, limit), catalogTemplates},
		{define("describe_tool", "The whole definition of a tool, with its input schema.", descriptionSchema, wanted("name", "name of the tool")), describeTool},
		{define("describe_prompt", "The whole definition of a prompt, with its arguments.", descriptionSchema, wanted("name", "name of the prompt")), describePrompt},
		{define("describe_resource", "The whole definition of a resource, or of the template that its URI fits.", descriptionSchema, wanted("uri", "URI of the resource")), describeResource},
		{define(searchCatalog, "Find tools, prompts, resources and templates of all servers by words; the best first. Start here.", cardsSchema, query,
			mcp.WithArray("kinds", mcp.WithStringEnumItems(kindNames[:]), mcp.Description("only of these kinds")), server, limit), runSearchCatalog},
		{define(searchResources, "Find resources by words; the best first.", cardsSchema, query, mimeType, limit), runSearchResources},
		{mcp.NewTool(CallTool, mcp.WithDescription("Call any tool by the name that a card or a search gave. Describe it first to know its arguments."),
			wanted("name", "name of the tool"), mcp.WithObject("arguments", mcp.Description("its arguments"))), nil},
		{mcp.NewTool(ReadResource, mcp.WithDescription("Read a resource by its URI, listed or made from a template."), wanted("uri", "URI of the resource"),
			mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: new(true)})), nil},
		{define(serverStatusTool, "Which servers there are, what they have, and which of them are not available, and why.", statusSchema), serverStatus},
	}
}
