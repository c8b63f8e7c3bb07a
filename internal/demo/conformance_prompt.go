package demo

import "goblin-actor/internal/decode"

// blocks is the content of a result. MCP 2025-11-25, server/tools.
type blocks []map[string]any

func textBlock(text string) map[string]any {
	return map[string]any{"type": "text", "text": text}
}

func imageBlock() map[string]any {
	return map[string]any{"type": "image", "data": redPixel, "mimeType": "image/png"}
}

func embedded(uri, mime, text string) map[string]any {
	return map[string]any{"type": "resource", "resource": map[string]any{"uri": uri, "mimeType": mime, "text": text}}
}

// answers returns a handler with a constant result.
func answers(b blocks) Handler {
	return func(*Call) (any, error) { return map[string]any{"content": b}, nil }
}

// contents returns the result of reading a resource. member is text or blob.
func contents(uri, mime, member, content string) any {
	return map[string]any{"contents": []any{map[string]any{"uri": uri, "mimeType": mime, member: content}}}
}

// said returns the result of a prompt whose messages all have the role user.
func said(b ...map[string]any) any {
	messages := make([]any, len(b))
	for i, content := range b {
		messages[i] = map[string]any{"role": "user", "content": content}
	}
	return map[string]any{"messages": messages}
}

func addConformancePrompts(s *Server) {
	s.AddPrompt(Prompt{
		Name: "test_simple_prompt", Description: "A prompt without arguments",
		Handle: func(*Call) (any, error) { return said(textBlock("This is a simple prompt for testing.")), nil },
	})
	s.AddPrompt(Prompt{
		Name: "test_prompt_with_arguments", Description: "A prompt that repeats its arguments",
		Arguments: []PromptArgument{
			{Name: "arg1", Description: "First test argument", Required: true},
			{Name: "arg2", Description: "Second test argument", Required: true},
		},
		Handle: func(c *Call) (any, error) {
			var args map[string]string
			err := decode.JSON(c.Arguments, "arguments", &args)
			return said(textBlock("Prompt with arguments: arg1='" + args["arg1"] + "', arg2='" + args["arg2"] + "'")), err
		},
		Complete: suggest,
	})
	s.AddPrompt(Prompt{
		Name: "test_prompt_with_embedded_resource", Description: "A prompt that embeds a resource",
		Arguments: []PromptArgument{{Name: "resourceUri", Description: "URI of the resource to embed", Required: true}},
		Handle: func(c *Call) (any, error) {
			var args map[string]string
			err := decode.JSON(c.Arguments, "arguments", &args)
			return said(
				embedded(args["resourceUri"], "text/plain", "Embedded resource content for testing."),
				textBlock("Please process the embedded resource above."),
			), err
		},
	})
	s.AddPrompt(Prompt{
		Name: "test_prompt_with_image", Description: "A prompt with an image",
		Handle: func(*Call) (any, error) {
			return said(imageBlock(), textBlock("Please analyze the image above.")), nil
		},
	})
}
