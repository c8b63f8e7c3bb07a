import io.modelcontextprotocol.spec.McpSchema;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The conversations of client.py. Each throws Wrong, or records in saw what the server sent. */
final class Talks {

    static final class Wrong extends RuntimeException {
        Wrong(String message) {
            super(message);
        }
    }

    private static final List<Object> odd = Arrays.asList(0, -1, 1.5, 1e-7, 9007199254740991L, -9007199254740991L, new BigInteger("12345678901234567890"),
        true, false, null, "", " ", "ü \u2028 \uD83D\uDC7A <&> \" \\ \n \0", List.of(), Json.map(), List.of(List.of(List.of())),
        Json.map("", Json.map("$ref", "x", "a.b", Arrays.asList((Object) null))), Json.map("z", 1, "a", 2), "x".repeat(5000), List.of(1, "1", 1.0, true));

    Map<String, Object> saw = Json.map();
    private final Client peer;
    private final Map<String, Object> to;
    private final String prefix, uris, key;

    Talks(Client peer, Map<String, Object> task) {
        this.peer = peer;
        this.to = Json.object(task.get("to"));
        this.prefix = (String) task.get("prefix");
        this.uris = (String) task.get("uris");
        this.key = (String) task.get("key");
    }

    void hold(String name) throws Exception {
        switch (name) {
            case "list" -> list();
            case "odd" -> odd();
            case "many" -> many();
            case "add" -> add();
            case "fail" -> fail();
            case "unknown" -> unknown();
            case "mixed" -> mixed();
            case "progress" -> progress();
            case "log" -> log();
            case "cancel" -> cancel();
            case "elicit", "either" -> asks(name, "accept {'colour': 'grün <&>'}");
            case "sample" -> asks("think", "mödel thought <&>");
            case "roots" -> asks("places", "file:///one%20place file:///two");
            case "refuse" -> refuse();
            case "resources" -> resources();
            case "tree" -> tree();
            case "link" -> link();
            case "prompts" -> prompts();
            case "complete" -> complete();
            case "subscribe" -> subscribe();
            case "grow" -> grow();
            case "found" -> found();
            case "ping" -> saw = checked(Client.outcome(peer.client.ping()));
            default -> throw new Wrong("unknown talk " + name);
        }
    }

    private static void must(boolean truth, String why, Object... what) {
        if (!truth) {
            throw new Wrong(why + " " + Arrays.toString(what));
        }
    }

    private static Map<String, Object> checked(Map<String, Object> result) {
        must(!result.containsKey("error"), "error", result);
        return result;
    }

    private Mono<McpSchema.CallToolResult> calling(String name, Object... arguments) {
        return peer.client.callTool(Json.make(McpSchema.CallToolRequest.class, "name", prefix + name, "arguments", Json.map(arguments)));
    }

    private Map<String, Object> call(String name, Object... arguments) {
        return Client.outcome(calling(name, arguments));
    }

    private Map<String, Object> read(String uri) {
        return Client.outcome(peer.client.readResource(Json.make(McpSchema.ReadResourceRequest.class, "uri", uri)));
    }

    private static String text(Map<String, Object> result) {
        List<Object> content = Json.list(result.get("content"));
        return content == null || content.isEmpty() ? Json.text(result) : String.valueOf(Json.object(content.get(0)).get("text"));
    }

    private static Map<String, Object> first(Map<String, Object> result, String of) {
        must(result.get(of) != null, "no " + of, result);
        return Json.object(Json.list(result.get(of)).get(0));
    }

    private void list() {
        items("tools", "name", peer.client.listTools());
        items("resources", "uri", peer.client.listResources());
        items("resourceTemplates", "uriTemplate", peer.client.listResourceTemplates());
        items("prompts", "name", peer.client.listPrompts());
        must(Json.list(saw.get("tools")).size() > 10, "tools", saw);
        must(Json.list(saw.get("resources")).size() == 3, "resources", saw);
        must(Json.list(saw.get("prompts")).size() == 2, "prompts", saw);
    }

    private void items(String of, String by, Mono<?> listing) {
        String before = by.equals("name") ? prefix : uris;
        Comparator<Object> order = Comparator.comparing(item -> (String) Json.object(item).get(by));
        saw.put(of, Json.list(checked(Client.outcome(listing)).get(of)).stream().filter(item -> {
            String name = (String) Json.object(item).get("name");
            return ((String) Json.object(item).get(by)).startsWith(before) && !name.startsWith("new") && !name.startsWith(prefix + "new");
        }).sorted(order).toList());
    }

    private void odd() {
        List<Object> results = new ArrayList<>();
        saw.put("results", results);
        for (Object value : odd) {
            results.add(call("odd", "value", value));
        }
        for (int i = 0; i < odd.size(); i++) {
            Object structured = Json.object(results.get(i)).get("structuredContent");
            must(structured != null && Json.text(Json.object(structured).get("value")).equals(Json.text(odd.get(i))), "odd", odd.get(i), results.get(i));
        }
    }

    private void many() {
        List<McpSchema.CallToolResult> results = Flux.range(0, 20).flatMapSequential(i -> calling("odd", "value", key + " " + i), 20).collectList().block();
        for (int i = 0; i < results.size(); i++) {
            Object structured = Json.plain(results.get(i)).get("structuredContent");
            must((key + " " + i).equals(Json.object(structured).get("value")), "the result of another call", i, results.get(i));
        }
    }

    private void add() {
        saw.put("both", call("add", "a", 1, "b", 5));
        saw.put("default", call("add", "a", 1));
        saw.put("missing", call("add"));
        saw.put("wrong", call("add", "a", "x"));
        saw.put("more", call("add", "a", 1, "c", 2));
        must(text(Json.object(saw.get("both"))).equals("6") && text(Json.object(saw.get("default"))).equals("3"), "sum", saw);
    }

    private void fail() {
        saw = call("fail", "text", "it <failed> & ü");
        must(Boolean.TRUE.equals(saw.get("isError")) && text(saw).contains("it <failed> & ü"), "failure", saw);
    }

    private void unknown() {
        Mono<?> prompt = peer.client.getPrompt(Json.make(McpSchema.GetPromptRequest.class, "name", prefix + "no_such", "arguments", Json.map()));
        for (Map<String, Object> result : List.of(call("no_such"), read(uris + "note://nowhere"), Client.outcome(prompt))) {
            must(result.containsKey("error") || Boolean.TRUE.equals(result.get("isError")), "no error for an unknown item", result);
        }
    }

    private void mixed() {
        saw = call("mixed");
        List<Object> kinds = Json.list(saw.get("content")).stream().map(piece -> Json.object(piece).get("type")).toList();
        must(kinds.equals(List.of("text", "image", "audio", "resource", "resource_link")), "kinds", saw);
    }

    private void progress() throws InterruptedException {
        saw = Client.outcome(peer.client.callTool(Json.make(McpSchema.CallToolRequest.class,
            "name", prefix + "steps", "arguments", Json.map("n", 3), "_meta", Json.map("progressToken", key))));
        must(text(saw).equals("3 steps"), "steps", saw);
        peer.until(() -> !peer.heard(peer.progress).isEmpty()); // progress may be dropped or arrive late; what arrives must be the server's, and must grow
        double last = 0;
        for (Object note : peer.heard(peer.progress)) {
            double now = ((Number) Json.object(note).get("progress")).doubleValue();
            must(now > last && Json.object(note).get("message").equals("step " + (int) now), "progress", note);
            last = now;
        }
    }

    private void log() throws InterruptedException {
        Client.outcome(peer.client.setLoggingLevel(McpSchema.LoggingLevel.DEBUG).thenReturn(Map.of()));
        must(text(call("speak", "key", key)).equals("said"), "speak");
        peer.until(() -> mine().size() >= 4);
        saw.put("lines", mine().stream().map(line -> Json.plain(Json.parse(Json.text(line).replace(key, "KEY"), Map.class))).toList());
    }

    private List<Object> mine() {
        return peer.heard(peer.logs).stream().filter(line -> Json.text(line).contains(key)).toList();
    }

    /** Cancels the call at its first progress notification. The SDK does not notify the server of this. */
    private void cancel() throws InterruptedException {
        peer.client.callTool(Json.make(McpSchema.CallToolRequest.class, "name", prefix + "wait", "arguments", Json.map("key", key),
            "_meta", Json.map("progressToken", "wait " + key))).subscribe().dispose();
        while (text(call("cancelled", "key", key)).equals("0")) {
            Thread.sleep(50);
        }
    }

    private void asks(String tool, String want) {
        int before = peer.heard(peer.asked).size();
        saw.put("result", tool.equals("places") ? call(tool) : call(tool, "key", "KEY"));
        List<Object> asked = peer.heard(peer.asked);
        saw.put("asked", asked.subList(before, asked.size()));
        must(text(Json.object(saw.get("result"))).contains(want), tool, saw);
    }

    private void refuse() {
        try (Client deaf = new Client(to, true)) {
            Talks talks = new Talks(deaf, Json.map("to", to, "prefix", prefix, "uris", uris, "key", key));
            Map<String, Object> result = talks.call("elicit", "key", "KEY");
            must(result.containsKey("error") || Boolean.TRUE.equals(result.get("isError")), "an answer of a client that gives none", result);
            must(!Json.list(Client.outcome(deaf.client.listTools()).get("tools")).isEmpty(), "no tools after a server request");
        }
        must(text(call("add", "a", 1)).equals("3"), "another client");
    }

    private void resources() {
        for (String uri : List.of("note://plain", "note://bytes", "note://by/x", "note://by/a%20b%3F", "note://by/%C3%BC")) {
            saw.put(uri, read(uris + uri));
        }
        must("by x".equals(first(Json.object(saw.get("note://by/x")), "contents").get("text")), "template", saw);
        must(first(Json.object(saw.get("note://bytes")), "contents").containsKey("blob"), "bytes", saw);
        saw.put("broken", read(uris + "note://broken"));
        must(Json.object(saw.get("broken")).containsKey("error"), "broken", saw);
    }

    private void tree() {
        for (String uri : List.of("tree://a", "tree://a/b/c.txt", "tree://a/b%20c/d")) {
            saw.put(uri, checked(read(uris + uri)));
        }
    }

    private void link() {
        Map<String, Object> link = first(call("link", "key", key.toLowerCase()), "content");
        must(link.get("type").equals("resource_link"), "link", link);
        saw = Json.plain(Json.parse(Json.text(read((String) link.get("uri"))).replace(key.toLowerCase(), "KEY"), Map.class));
        first(saw, "contents");
    }

    private void prompt(String as, String name, Object... arguments) {
        saw.put(as, Client.outcome(peer.client.getPrompt(Json.make(McpSchema.GetPromptRequest.class, "name", prefix + name, "arguments", Json.map(arguments)))));
    }

    private void prompts() {
        prompt("one", "greet", "name", "ü <&>");
        prompt("two", "greet", "name", "x", "style", "odd");
        prompt("missing", "greet");
        prompt("broke", "broke", "name", "x");
        must(Json.text(saw.get("two")).contains("odd way"), "prompt", saw);
    }

    private void complete() {
        McpSchema.CompleteReference prompt = Json.make(McpSchema.PromptReference.class, "type", "ref/prompt", "name", prefix + "greet");
        McpSchema.CompleteReference template = Json.make(McpSchema.ResourceReference.class, "type", "ref/resource", "uri", uris + "note://by/{name}");
        saw.put("prompt", Client.outcome(peer.client.completeCompletion(new McpSchema.CompleteRequest(prompt, new McpSchema.CompleteRequest.CompleteArgument("name", "ü")))));
        saw.put("template", Client.outcome(peer.client.completeCompletion(new McpSchema.CompleteRequest(template,
            new McpSchema.CompleteRequest.CompleteArgument("name", "<&>"), new McpSchema.CompleteRequest.CompleteContext(Map.of("other", "given"))))));
        must(Json.text(saw.get("template")).contains("other") && Json.object(saw.get("prompt")).containsKey("completion"), "completion", saw);
    }

    private void subscribe() throws InterruptedException {
        String uri = uris + "note://plain";
        peer.client.subscribeResource(Json.make(McpSchema.SubscribeRequest.class, "uri", uri)).block();
        must(text(call("touch", "uri", "note://plain")).equals("touched"), "touch");
        peer.until(() -> peer.heard(peer.notes).contains(uri)); // the client has read the resource again before it reports the update
        peer.client.unsubscribeResource(Json.make(McpSchema.UnsubscribeRequest.class, "uri", uri)).block();
    }

    private boolean lists(String name) {
        return Json.list(checked(Client.outcome(peer.client.listTools())).get("tools")).stream().anyMatch(tool -> name.equals(Json.object(tool).get("name")));
    }

    private void grow() throws InterruptedException {
        String name = "new" + key;
        for (String tool : List.of("grow", "shrink")) {
            int before = peer.heard(peer.notes).size();
            String answer = text(call(tool, "name", name));
            must(Set.of("added", "removed").contains(answer), "answer", answer);
            do {
                int since = before;
                peer.until(() -> peer.heard(peer.notes).lastIndexOf("tools") >= since);
                before = peer.heard(peer.notes).size();
            } while (lists(prefix + name) != tool.equals("grow"));
            if (tool.equals("grow")) {
                saw = call(name);
                must(text(saw).equals("new"), "the new tool", saw);
            }
        }
    }

    private void found() throws InterruptedException {
        String name = "new" + key;
        call("grow", "name", name);
        while (!text(call(name)).equals("new")) {
            Thread.sleep(50);
        }
        while (!lists(prefix + name)) {
            Thread.sleep(50);
        }
        call("shrink", "name", name);
    }
}
