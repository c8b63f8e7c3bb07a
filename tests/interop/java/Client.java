import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import reactor.core.publisher.Mono;

/** A client of the Java SDK. It reads the same lines from stdin, and writes the same lines to stdout, as client.py of the Python peers. */
final class Client implements AutoCloseable {

    private static final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });

    final McpAsyncClient client;
    final List<Object> logs = new ArrayList<>(), asked = new ArrayList<>(), progress = new ArrayList<>(), notes = new ArrayList<>();

    /** Connects to a server. A deaf client declares no capabilities. */
    Client(Map<String, Object> to, boolean deaf) {
        McpClient.AsyncSpec spec = McpClient.async(transport(to)).requestTimeout(Duration.ofSeconds(300)).initializationTimeout(Duration.ofSeconds(60))
            .loggingConsumer(line -> hear(logs, Json.plain(line)))
            .progressConsumer(note -> hear(progress, Json.plain(note)))
            .toolsChangeConsumer(tools -> hear(notes, "tools"))
            .resourcesUpdateConsumer(contents -> {
                contents.forEach(piece -> hear(notes, piece.uri()));
                return Mono.empty();
            });
        if (!deaf) {
            spec.capabilities(Json.parse("{\"elicitation\":{},\"sampling\":{},\"roots\":{}}", McpSchema.ClientCapabilities.class))
                .roots(Json.make(McpSchema.Root.class, "uri", "file:///one%20place", "name", "one"), Json.make(McpSchema.Root.class, "uri", "file:///two"))
                .elicitation(request -> {
                    hear(asked, Json.map("elicit", Json.plain(request)));
                    return Mono.just(Json.make(McpSchema.ElicitResult.class, "action", "accept", "content", Json.map("colour", "grün <&>")));
                })
                .sampling(request -> {
                    hear(asked, Json.map("sample", Json.plain(request)));
                    return Mono.just(Json.make(McpSchema.CreateMessageResult.class, "role", "assistant", "model", "mödel", "stopReason", "endTurn",
                        "content", Json.map("type", "text", "text", "thought <&>")));
                });
        }
        client = spec.build();
        client.initialize().block();
    }

    private static McpClientTransport transport(Map<String, Object> to) {
        if (to.get("command") != null) {
            List<String> args = Json.list(to.get("args")).stream().map(String::valueOf).toList();
            StdioClientTransport stdio = new StdioClientTransport(ServerParameters.builder((String) to.get("command")).args(args).build(), Json.mapper);
            stdio.setStdErrorHandler(line -> {
            });
            return stdio;
        }
        URI url = URI.create((String) to.get("url"));
        String base = url.getScheme() + "://" + url.getAuthority();
        return url.getPath().endsWith("/sse") ? HttpClientSseClientTransport.builder(base).sseEndpoint(url.getPath()).build()
            : HttpClientStreamableHttpTransport.builder(base).endpoint(url.getPath()).build();
    }

    private synchronized Mono<Void> hear(List<Object> where, Object what) {
        where.add(what);
        notifyAll();
        return Mono.empty();
    }

    synchronized List<Object> heard(List<Object> where) {
        return List.copyOf(where);
    }

    interface Truth {
        boolean get();
    }

    synchronized void until(Truth truth) throws InterruptedException {
        while (!truth.get()) {
            wait();
        }
    }

    /** Returns the result, or the error. */
    static Map<String, Object> outcome(Mono<?> doing) {
        try {
            return Json.plain(doing.block());
        } catch (McpError e) {
            return Json.map("error", Json.plain(e.getJsonRpcError()));
        }
    }

    @Override
    public void close() {
        try {
            client.closeGracefully().block(Duration.ofSeconds(5));
        } catch (RuntimeException e) {
            client.close();
        }
    }

    /** Runs all conversations over one connection. If a conversation breaks the connection or times out, the next one gets a new connection. */
    private static Map<String, Object> converse(Map<String, Object> task) {
        Map<String, Object> done = new LinkedHashMap<>();
        List<Object> left = new ArrayList<>(Json.list(task.get("talks")));
        for (int failed = 0; !left.isEmpty();) {
            int before = left.size();
            try (Client client = new Client(Json.object(task.get("to")), false)) {
                boolean good = true;
                while (good && !left.isEmpty()) {
                    good = one(task, client, (String) left.remove(0), done);
                }
            } catch (RuntimeException e) {
                if (left.size() == before && ++failed == 3) {
                    left.forEach(name -> done.put((String) name, Json.map("saw", null, "wrong", "cannot connect: " + e + " " + e.getCause())));
                    break;
                }
            }
        }
        return done;
    }

    /** Runs one conversation and returns whether the connection can still be used. */
    private static boolean one(Map<String, Object> task, Client client, String name, Map<String, Object> done) {
        Talks talks = new Talks(client, task);
        long limit = Json.list(task.get("limited")).contains(name) ? 1500 : 1000L * Integer.getInteger("patience", 300);
        Future<?> talk = threads.submit(() -> {
            talks.hold(name);
            return null;
        });
        String wrong = "";
        boolean good = true;
        try {
            talk.get(limit, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            talk.cancel(true);
            wrong = "nothing for " + limit + " ms; " + talks.saw;
            good = false;
        } catch (Exception e) {
            wrong = String.valueOf(e.getCause());
            good = e.getCause() instanceof Talks.Wrong || e.getCause() instanceof McpError;
        }
        done.put(name, Json.map("saw", talks.saw, "wrong", wrong.length() > 800 ? wrong.substring(0, 800) : wrong));
        return good;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null;) {
            Map<String, Object> task = Json.plain(Json.parse(line, Map.class));
            String done = Json.text(converse(task)), uris = (String) task.get("uris"), prefix = (String) task.get("prefix");
            done = uris.isEmpty() ? done : done.replace(uris, "");
            done = prefix.isEmpty() ? done : done.replace('"' + prefix, "\"");
            out.println("{\"talks\":" + done + "}");
        }
        System.exit(0);
    }
}
