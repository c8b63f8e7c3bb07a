import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import jakarta.servlet.http.HttpServlet;
import java.io.File;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A server of the Java SDK with the tools of server.py: Server stdio | Server HTTP SSE (ports). */
final class Server {

    private static final Map<String, Object> form = Json.map("type", "object",
        "properties", Json.map("colour", Json.map("type", "string", "description", "wörd <&> \u2028")), "required", List.of("colour"));

    private McpSyncServer server;

    interface Tool {
        Object call(McpSyncServerExchange exchange, McpSchema.CallToolRequest request) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("stdio")) {
            new Server().build(McpServer.sync(new StdioServerTransportProvider(Json.mapper)));
            return;
        }
        HttpServletStreamableServerTransportProvider http = HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
        new Server().build(McpServer.sync(http));
        HttpServletSseServerTransportProvider sse = HttpServletSseServerTransportProvider.builder().sseEndpoint("/sse").messageEndpoint("/message").build();
        new Server().build(McpServer.sync(sse));
        listen(http, args[0]);
        listen(sse, args[1]);
        Thread.currentThread().join();
    }

    private static void listen(HttpServlet servlet, String port) throws Exception {
        Logger.getLogger("org.apache").setLevel(Level.SEVERE);
        File base = Files.createTempDirectory("java-peer").toFile();
        base.deleteOnExit();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(Integer.parseInt(port));
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addContext("", base.getPath());
        Tomcat.addServlet(context, "mcp", servlet).setAsyncSupported(true);
        context.addServletMappingDecoded("/*", "mcp");
        tomcat.start();
    }

    private void build(McpServer.SyncSpecification<?> spec) {
        spec.serverInfo("java server", "1").capabilities(Json.parse("""
            {"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}""",
            McpSchema.ServerCapabilities.class));
        tools(spec);
        questions(spec);
        changes(spec);
        things(spec);
        server = spec.build();
    }

    private static McpServerFeatures.SyncToolSpecification tool(String name, String description, String properties, String required, Tool does) {
        McpSchema.Tool tool = Json.parse("{\"name\":\"" + name + "\",\"description\":\"" + description + "\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
            + properties + "},\"required\":[" + required + "]}}", McpSchema.Tool.class);
        BiFunction<McpSyncServerExchange, McpSchema.CallToolRequest, McpSchema.CallToolResult> handler = (exchange, request) -> {
            try {
                Object result = does.call(exchange, request);
                return result instanceof McpSchema.CallToolResult whole ? whole : say(String.valueOf(result), false);
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        };
        return McpServerFeatures.SyncToolSpecification.builder().tool(tool).callHandler(handler).build();
    }

    private static McpSchema.CallToolResult say(String text, boolean failed) {
        return Json.make(McpSchema.CallToolResult.class, "content", List.of(Json.map("type", "text", "text", text)), "isError", failed);
    }

    private static final String KEY = "\"key\":{\"type\":\"string\"}", NAME = "\"name\":{\"type\":\"string\"}";

    private void tools(McpServer.SyncSpecification<?> spec) {
        spec.tools(
            tool("odd", "Returns its argument.", "\"value\":{}", "\"value\"", (exchange, request) -> {
                Map<String, Object> value = Json.map("value", request.arguments().get("value"));
                return Json.make(McpSchema.CallToolResult.class, "structuredContent", value, "content", List.of(Json.map("type", "text", "text", Json.text(value))));
            }),
            tool("add", "Adds.", "\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\",\"default\":2}", "\"a\"", (exchange, request) ->
                ((Number) request.arguments().get("a")).intValue() + ((Number) request.arguments().getOrDefault("b", 2)).intValue()),
            tool("fail", "Returns a result with isError.", "\"text\":{\"type\":\"string\"}", "\"text\"", (exchange, request) ->
                say((String) request.arguments().get("text"), true)),
            tool("mixed", "Returns one content block of each kind.", "", "", (exchange, request) -> Json.parse("""
                {"content":[{"type":"text","text":"a <b> & \\u2028 ü","annotations":{"audience":["user"],"priority":0.5}},
                {"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"audio","data":"aGk=","mimeType":"audio/wav"},
                {"type":"resource","resource":{"uri":"note://embedded","text":"in it","mimeType":"text/plain"}},
                {"type":"resource_link","uri":"note://plain","name":"plain"}]}""", McpSchema.CallToolResult.class)),
            tool("steps", "Reports progress.", "\"n\":{\"type\":\"integer\"}", "\"n\"", (exchange, request) -> {
                int n = ((Number) request.arguments().get("n")).intValue();
                for (int i = 1; i <= n; i++) {
                    progress(exchange, request, i, n, "step " + i);
                }
                return n + " steps";
            }),
            tool("speak", "Writes log lines.", KEY, "\"key\"", (exchange, request) -> {
                for (String level : List.of("debug", "info", "warning", "error")) {
                    exchange.loggingNotification(Json.make(McpSchema.LoggingMessageNotification.class,
                        "level", level, "logger", "java", "data", level + " " + request.arguments().get("key")));
                }
                return "said";
            }),
            tool("wait", "Runs for ten minutes: the SDK does not tell a tool that its call was cancelled.", KEY, "\"key\"", (exchange, request) -> {
                progress(exchange, request, 1, 2, "waiting");
                Thread.sleep(600_000);
                return "waited";
            }),
            tool("cancelled", "Returns the number of cancelled calls of wait.", KEY, "\"key\"", (exchange, request) -> 0));
    }

    private static void progress(McpSyncServerExchange exchange, McpSchema.CallToolRequest request, double n, double total, String message) {
        if (request.progressToken() != null) {
            exchange.progressNotification(new McpSchema.ProgressNotification(request.progressToken(), n, total, message));
        }
    }

    private void questions(McpServer.SyncSpecification<?> spec) {
        spec.tools(
            tool("elicit", "Asks for a form.", KEY, "\"key\"", (exchange, request) -> {
                McpSchema.ElicitResult r = exchange.createElicitation(McpSchema.ElicitFormRequest.builder("Which colour, " + request.arguments().get("key") + "?", form).build());
                return r.action().name().toLowerCase() + " {'colour': '" + r.content().get("colour") + "'}";
            }),
            tool("think", "Sends a sampling request.", KEY, "\"key\"", (exchange, request) -> {
                McpSchema.CreateMessageResult r = exchange.createMessage(Json.parse(
                    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"say <it>\"}}],\"maxTokens\":7}", McpSchema.CreateMessageRequest.class));
                return r.model() + " " + ((McpSchema.TextContent) r.content()).text();
            }),
            tool("places", "Sends a roots request.", "", "", (exchange, request) ->
                String.join(" ", exchange.listRoots().roots().stream().map(McpSchema.Root::uri).toList())));
    }

    private void changes(McpServer.SyncSpecification<?> spec) {
        spec.tools(
            tool("grow", "Adds a tool and notifies the client.", NAME, "\"name\"", (exchange, request) -> {
                server.addTool(tool((String) request.arguments().get("name"), "New.", "", "", (e, r) -> "new"));
                return "added";
            }),
            tool("shrink", "Removes the added tool.", NAME, "\"name\"", (exchange, request) -> {
                server.removeTool((String) request.arguments().get("name"));
                return "removed";
            }),
            tool("link", "Links to a resource that is not listed.", KEY, "\"key\"", (exchange, request) -> Json.make(McpSchema.CallToolResult.class, "content",
                List.of(Json.map("type", "resource_link", "uri", "hidden://" + request.arguments().get("key"), "name", "hidden", "mimeType", "text/plain")))),
            tool("touch", "Notifies the client that a resource was updated.", "\"uri\":{\"type\":\"string\"}", "\"uri\"", (exchange, request) -> {
                server.notifyResourcesUpdated(Json.make(McpSchema.ResourcesUpdatedNotification.class, "uri", request.arguments().get("uri")));
                return "touched";
            }));
    }

    private static McpSchema.ReadResourceResult contents(Object... members) {
        return Json.make(McpSchema.ReadResourceResult.class, "contents", List.of(Json.map(members)));
    }

    private static McpError failure(int code, String message) {
        return McpError.builder(code).message(message).build();
    }

    private void resource(McpServer.SyncSpecification<?> spec, String name, String type, Function<String, McpSchema.ReadResourceResult> read) {
        McpSchema.Resource resource = Json.make(McpSchema.Resource.class, "uri", "note://" + name, "name", name, "mimeType", type);
        spec.resources(new McpServerFeatures.SyncResourceSpecification(resource, (exchange, request) -> read.apply(request.uri())));
    }

    private void template(McpServer.SyncSpecification<?> spec, String uri, String name, String begin, String says) {
        McpSchema.ResourceTemplate template = Json.make(McpSchema.ResourceTemplate.class, "uriTemplate", uri, "name", name, "mimeType", "text/plain");
        spec.resourceTemplates(new McpServerFeatures.SyncResourceTemplateSpecification(template, (exchange, request) ->
            contents("uri", request.uri(), "mimeType", "text/plain", "text", says + request.uri().substring(begin.length()))));
    }

    private void things(McpServer.SyncSpecification<?> spec) {
        resource(spec, "plain", "text/plain", uri -> contents("uri", uri, "mimeType", "text/plain", "text", "plain <&> ü \u2028"));
        resource(spec, "bytes", "application/octet-stream", uri -> contents("uri", uri, "mimeType", "application/octet-stream", "blob", "AP8gYnl0ZXM="));
        resource(spec, "broken", "text/plain", uri -> {
            throw failure(-32603, "it is broken");
        });
        template(spec, "note://by/{name}", "by", "note://by/", "by ");
        template(spec, "hidden://{key}", "hidden", "hidden://", "found ");
        prompt(spec, "{\"name\":\"greet\",\"description\":\"Greets.\",\"arguments\":[{\"name\":\"name\",\"required\":true},{\"name\":\"style\"}]}", given -> {
            if (given.get("name") == null) {
                throw failure(-32602, "name is missing");
            }
            return "Say hello to " + given.get("name") + " in a " + given.getOrDefault("style", "plain") + " way.";
        });
        prompt(spec, "{\"name\":\"broke\",\"description\":\"Fails.\",\"arguments\":[{\"name\":\"name\",\"required\":true}]}", given -> {
            throw failure(-32603, "no " + given.get("name"));
        });
        complete(spec, Json.make(McpSchema.PromptReference.class, "type", "ref/prompt", "name", "greet"));
        complete(spec, Json.make(McpSchema.ResourceReference.class, "type", "ref/resource", "uri", "note://by/{name}"));
    }

    private void prompt(McpServer.SyncSpecification<?> spec, String text, Function<Map<String, Object>, String> says) {
        spec.prompts(new McpServerFeatures.SyncPromptSpecification(Json.parse(text, McpSchema.Prompt.class), (exchange, request) -> {
            Map<String, Object> given = request.arguments() == null ? Map.of() : request.arguments();
            return Json.make(McpSchema.GetPromptResult.class, "messages", List.of(Json.map("role", "user", "content", Json.map("type", "text", "text", says.apply(given)))));
        }));
    }

    private void complete(McpServer.SyncSpecification<?> spec, McpSchema.CompleteReference reference) {
        spec.completions(new McpServerFeatures.SyncCompletionSpecification(reference, (exchange, request) -> {
            Map<String, String> given = request.context() == null || request.context().arguments() == null ? Map.of() : request.context().arguments();
            List<String> values = List.of(request.ref().identifier() + " " + request.argument().name() + " " + request.argument().value(), given.toString());
            return Json.make(McpSchema.CompleteResult.class, "completion", Json.map("values", values, "total", 2, "hasMore", false));
        }));
    }
}
