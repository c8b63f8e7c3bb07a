package telemetry

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// attrServer is the attribute for the server's name in the configuration. The semantic conventions define no such attribute.
const attrServer = "goblin.server.name"

// otherMethod stands for all methods that no protocol version defines, in metrics and span names.
const otherMethod = "_OTHER"

// appendMethod appends the attributes of a method. If the method is protocol.MethodOther, text is its name, or "" for
// otherMethod. item is the tool or prompt.
func appendMethod(attrs []attribute.KeyValue, m protocol.Method, text, item string) []attribute.KeyValue {
	attrs = append(attrs, attribute.String("mcp.method.name", methodName(m, text)))
	if m == protocol.MethodToolsCall {
		attrs = append(attrs, attribute.String("gen_ai.operation.name", "execute_tool"))
	}
	if item == "" {
		return attrs
	}
	switch m.Names() {
	case protocol.SubjectTool:
		return append(attrs, attribute.String("gen_ai.tool.name", item))
	case protocol.SubjectPrompt:
		return append(attrs, attribute.String("gen_ai.prompt.name", item))
	}
	return attrs
}

func methodName(m protocol.Method, text string) string {
	if m != protocol.MethodOther {
		return m.String()
	}
	if text == "" {
		return otherMethod
	}
	return status.Printable(text, 100)
}

// appendError appends the class of an error. A JSON-RPC code is also the status of the response.
func appendError(attrs []attribute.KeyValue, class string) []attribute.KeyValue {
	if class == "" {
		return attrs
	}
	attrs = append(attrs, attribute.String("error.type", class))
	if _, err := strconv.Atoi(class); err == nil {
		attrs = append(attrs, attribute.String("rpc.response.status_code", class))
	}
	return attrs
}

// appendTransport appends the attributes of a transport: stdio, http or sse. A server in the same process has none.
func appendTransport(attrs []attribute.KeyValue, transport string) []attribute.KeyValue {
	switch transport {
	case "", "embedded":
		return attrs
	case "stdio":
		return append(attrs, attribute.String("network.transport", "pipe"))
	}
	return append(attrs, attribute.String("network.transport", "tcp"), attribute.String("network.protocol.name", "http"))
}
