// A server of the TypeScript SDK v2 that supports every conversation of TestMatrix, in both eras:
//
//   node servers/typescript-v2.mjs            on stdin and stdout
//   node servers/typescript-v2.mjs PORT       over streamable HTTP, older versions in sessions
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { completable, createMcpHandler, inputRequired, isLegacyRequest, McpServer, ResourceNotFoundError, ResourceTemplate } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const watched = "test://watched";
const text = (said) => ({ content: [{ type: "text", text: said }] });
const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const extras = new Set(); // tools that were added
const lasting = new Set(); // instances that serve one connection or session each
let notify; // notify function of the HTTP handler, in which a modern instance serves only one request

// asks returns a handler that responds with input_required until the client has provided the input. read returns the text for the answer.
const asks = (question, read) => (ctx) => {
  const answer = ctx.mcpReq.inputResponses?.answer;
  return answer ? text(read(answer)) : inputRequired({ inputRequests: { answer: question }, requestState: "asked" });
};

async function steps(ctx, n, pause) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (let progress = 1; progress <= n && !ctx.mcpReq.signal.aborted; progress++) {
    if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: n } });
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return text(`${n} steps`);
}

function factory({ era }) {
  const server = new McpServer({ name: "typescript-v2", version: "1" }, {
    capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true, listChanged: true }, logging: {}, completions: {} },
  });
  const tool = (name, handle) => server.registerTool(name, { description: name }, handle);
  server.registerTool("echo", { description: "echo", inputSchema: z.object({ message: z.string() }) }, ({ message }) => text(`Echo: ${message}`));
  tool("progress", (ctx) => steps(ctx, 3, 50));
  tool("slow", (ctx) => steps(ctx, 30, 100));
  tool("ask_user", asks(inputRequired.elicit({ message: "Who are you?", requestedSchema: form }), (a) => `Hello, ${a.content?.name}`));
  tool("ask_model", asks(inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: "Guess!" } }], maxTokens: 10 }),
    (a) => `The model says ${a.content.text}`));
  tool("ask_roots", asks(inputRequired.listRoots(), (a) => a.roots.map((r) => r.uri).join(" ")));
  tool("log", async (ctx) => { await ctx.mcpReq.log("warning", "look out"); return text("logged"); });
  tool("touch", async () => {
    notify?.resourceUpdated(watched);
    for (const instance of lasting) await instance.server.sendResourceUpdated({ uri: watched });
    return text("touched");
  });
  const more = (instance, name) => instance.registerTool(name, { description: name }, () => text(name));
  server.registerTool("change", { description: "adds a tool", inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
    extras.add(name);
    notify?.toolsChanged();
    for (const instance of lasting) more(instance, name);
    return text("changed");
  });
  for (const name of extras) more(server, name);
  if (era === "legacy" || !notify) {
    lasting.add(server);
    server.server.onclose = () => lasting.delete(server);
  }
  server.registerPrompt("greet", { argsSchema: z.object({ style: completable(z.string(), (v) => ["brief", "bold"].filter((s) => s.startsWith(v))) }) },
    ({ style }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet me: ${style}` } }] }));
  const read = (uri) => {
    if (uri.href.endsWith("/404")) throw new ResourceNotFoundError(uri.href);
    return found(uri);
  };
  const found = (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "as ever" }] });
  server.registerResource("static", "test://static", { mimeType: "text/plain" }, read);
  server.registerResource("watched", watched, { mimeType: "text/plain" }, read);
  server.registerResource("page", new ResourceTemplate("test://page/{number}", { list: undefined }), {}, read);
  if (era === "legacy") {
    for (const method of ["resources/subscribe", "resources/unsubscribe"]) server.server.setRequestHandler(method, () => ({}));
  }
  return server;
}

if (process.argv[2]) {
  const handler = createMcpHandler(factory, { legacy: "reject" });
  ({ notify } = handler);
  const modern = toNodeHandler(handler);
  const sessions = new Map();
  const legacy = async (req, res) => {
    let transport = sessions.get(req.headers["mcp-session-id"]);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => { sessions.set(id, transport); } });
      await factory({ era: "legacy" }).connect(transport);
    }
    await transport.handleRequest(req, res, req.body);
  };
  createServer(async (req, res) => {
    let body = "";
    for await (const piece of req) body += piece;
    if (body) req.body = JSON.parse(body);
    if (await isLegacyRequest(await toWebRequest(req, req.body), req.body)) await legacy(req, res);
    else await modern(req, res, req.body);
  }).listen(Number(process.argv[2]), "127.0.0.1");
} else {
  serveStdio(factory);
}
