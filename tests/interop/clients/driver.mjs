// Clients of the TypeScript SDK, v1 or v2, controlled over stdin and stdout with one JSON object per line:
//
//   node clients/driver.mjs v1|v2
//   → {"id":1,"on":"c1","op":"connect","via":"http|sse|stdio",…}    ← {"id":1,"result":…} or {"id":1,"error":{code,message}}
//   → {"op":"abort","of":1}                                         ← {"on":"c1","heard":"tools/list_changed"}
//                                                                   ← {"of":1,"progress":0.5}
// Each value of "on" is a separate client.
import { createInterface } from "node:readline";

const v2 = process.argv[2] === "v2";
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const modern = "2026-07-28";

async function load() {
  if (v2) {
    const [all, stdio] = await Promise.all([import("@modelcontextprotocol/client"), import("@modelcontextprotocol/client/stdio")]);
    return { ...all, ...stdio, types: {} };
  }
  const at = "@modelcontextprotocol/sdk/";
  const parts = await Promise.all(["client/index.js", "client/stdio.js", "client/sse.js", "client/streamableHttp.js"].map((p) => import(at + p)));
  return { ...Object.assign({}, ...parts), types: await import(at + "types.js") };
}
const sdk = await load();
const clients = new Map(); // by "on": {client, level, calls: tokens → ids of calls with progress}
const running = new Map(); // by id: AbortController

// v1 identifies a method by its schema, v2 by its name.
const kinds = {
  "elicitation/create": "ElicitRequestSchema", "sampling/createMessage": "CreateMessageRequestSchema", "roots/list": "ListRootsRequestSchema",
  "notifications/tools/list_changed": "ToolListChangedNotificationSchema", "notifications/prompts/list_changed": "PromptListChangedNotificationSchema",
  "notifications/resources/list_changed": "ResourceListChangedNotificationSchema", "notifications/resources/updated": "ResourceUpdatedNotificationSchema",
  "notifications/message": "LoggingMessageNotificationSchema",
};
const kind = (method) => (v2 ? method : sdk.types[kinds[method]]);

function transport({ via, url, key, command, args, env }) {
  const options = key ? { requestInit: { headers: { Authorization: `Bearer ${key}` } } } : undefined;
  switch (via) {
    case "http": return new sdk.StreamableHTTPClientTransport(new URL(url), options);
    case "sse": return new sdk.SSEClientTransport(new URL(url), options);
    default: return new sdk.StdioClientTransport({ command, args, stderr: "inherit", env: { ...process.env, ...env } });
  }
}

const isModern = (client) => v2 && client.getNegotiatedProtocolVersion() >= modern;

const ops = {
  async connect({ on, mode, form, guess, cave, ...where }) {
    const options = { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} } };
    if (mode) options.versionNegotiation = { mode: mode === "auto" ? mode : { pin: mode } };
    const client = new sdk.Client({ name: `interop-typescript-${process.argv[2]}`, version: "1" }, options);
    client.setRequestHandler(kind("elicitation/create"), () => ({ action: "accept", content: form }));
    client.setRequestHandler(kind("sampling/createMessage"), () => ({ role: "assistant", model: "goblin", content: { type: "text", text: guess } }));
    client.setRequestHandler(kind("roots/list"), () => ({ roots: [{ uri: cave, name: "cave" }] }));
    for (const what of ["tools", "prompts", "resources"]) {
      client.setNotificationHandler(kind(`notifications/${what}/list_changed`), () => say({ on, heard: `${what}/list_changed` }));
    }
    client.setNotificationHandler(kind("notifications/resources/updated"), (n) => say({ on, heard: `updated ${n.params.uri}` }));
    client.setNotificationHandler(kind("notifications/message"), (n) => say({ on, heard: `log ${n.params.level}` }));
    const link = transport(where);
    let version; // v1 passes it only to its transport
    const told = link.setProtocolVersion?.bind(link);
    link.setProtocolVersion = (v) => { version = v; told?.(v); };
    const calls = new Map();
    const send = link.send.bind(link);
    link.send = (message, ...more) => {
      const token = message.params?._meta?.progressToken;
      if (token !== undefined) calls.set(token, calls.newest);
      return send(message, ...more);
    };
    // If progress arrives together with the response, the SDK has already removed the progress handler. It drops the progress and reports an error.
    client.onerror = (e) => {
      const [, lost] = /unknown token: (.*)/.exec(e.message) ?? [];
      const { progressToken, progress } = lost ? JSON.parse(lost).params : {};
      if (calls.has(progressToken)) say({ of: calls.get(progressToken), progress });
    };
    await client.connect(link);
    clients.set(on, { client, calls });
    return { server: client.getServerVersion().name, version: v2 ? client.getNegotiatedProtocolVersion() : version };
  },
  async list({ client }, { what }) {
    switch (what) {
      case "tools": return (await client.listTools()).tools.map((t) => t.name);
      case "prompts": return (await client.listPrompts()).prompts.map((p) => p.name);
      case "resources": return (await client.listResources()).resources.map((r) => r.uri);
      default: return (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
    }
  },
  async call({ client, level, calls }, { id, name, arguments: args, progress }, signal) {
    if (progress) calls.newest = id;
    const params = { name, arguments: args };
    if (level) params._meta = { "io.modelcontextprotocol/logLevel": level };
    // v2 also reports each round of input requests that it answers as progress of the call, starting with 1, whatever the server has reported.
    const rounds = (p) => p.message?.startsWith("Fulfilling input required by");
    const options = { signal, ...progress && { onprogress: (p) => rounds(p) || say({ of: id, progress: p.progress }) } };
    return v2 ? client.callTool(params, options) : client.callTool(params, undefined, options);
  },
  // A call as a task of 2025-11-25, in v1 only. The result contains what the SDK's stream reports, and the task as listed.
  async task({ client }, { name, arguments: args, cancel }) {
    const { tasks } = client.experimental, told = { statuses: [] };
    await client.listTools(); // the list tells the client which tools run as tasks
    for await (const m of tasks.callToolStream({ name, arguments: args })) {
      if (m.type === "error") {
        if (!cancel) throw m.error;
        told.error = m.error.message;
      }
      if (m.type === "result") told.text = m.result.content[0].text;
      if (m.type === "taskCreated") {
        told.id = m.task.taskId;
        if (cancel) await tasks.cancelTask(told.id);
      }
      if (m.task && told.statuses.at(-1) !== m.task.status) told.statuses.push(m.task.status);
    }
    told.listed = (await tasks.listTasks()).tasks.filter((t) => t.taskId === told.id).map((t) => t.status);
    return told;
  },
  async read({ client }, { uri }) { return (await client.readResource({ uri })).contents[0]; },
  async prompt({ client }, { name, arguments: args }) { return (await client.getPrompt({ name, arguments: args })).messages[0].content.text; },
  async complete({ client }, { ref, argument }) { return (await client.complete({ ref, argument })).completion.values; },
  async level(held, { level }) {
    if (isModern(held.client)) held.level = level;
    else await held.client.setLoggingLevel(level);
  },
  async listen({ client }, { uri }) {
    if (isModern(client)) {
      await client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, ...uri && { resourceSubscriptions: [uri] } });
    } else if (uri) {
      await client.subscribeResource({ uri });
    }
  },
  async close({ client }, { on }) {
    clients.delete(on);
    await client.close();
  },
};

async function serve(request) {
  const { id, on, op, of } = request;
  if (op === "abort") {
    running.get(of)?.abort("enough");
    return;
  }
  const abort = new AbortController();
  running.set(id, abort);
  try {
    const result = op === "connect" ? await ops.connect(request) : await ops[op](clients.get(on), request, abort.signal);
    say({ id, result: result ?? null });
  } catch (e) {
    say({ id, error: { code: Number.isInteger(e?.code) ? e.code : 0, message: e?.message ?? String(e) } });
  } finally {
    running.delete(id);
  }
}

process.on("unhandledRejection", (e) => console.error("unhandled:", e));
createInterface({ input: process.stdin }).on("line", (line) => serve(JSON.parse(line))).on("close", () => process.exit(0));
