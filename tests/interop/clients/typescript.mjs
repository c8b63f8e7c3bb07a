// One conversation of the TypeScript SDK's client with the gateway. Prints what it saw as one JSON object:
// the transcript of conversation_test.go.
//
//   node clients/typescript.mjs PREFIX http URL
//   node clients/typescript.mjs PREFIX stdio COMMAND [ARG…]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [prefix, kind, where, ...args] = process.argv.slice(2);
const tool = (name) => `${prefix}_${name}`;
const uri = (original) => `resource://${prefix}/${original}`;
const text = (result) => result.content.map((c) => c.text ?? "").join("");
const names = (items, key = "name") => items.map((item) => item[key]);

const client = new Client({ name: "interop-typescript", version: "1" }, { capabilities: {} });
let changes = 0;
client.setNotificationHandler(ResourceListChangedNotificationSchema, () => { changes++; });

await client.connect(kind === "http"
  ? new StreamableHTTPClientTransport(new URL(where))
  : new StdioClientTransport({ command: where, args, stderr: "inherit", env: process.env }));

async function refused(ask) {
  try {
    return { code: 0, message: JSON.stringify(await ask()) };
  } catch (e) {
    return { code: e.code ?? 0, message: e.message };
  }
}

async function longWithProgress() {
  const progress = [];
  const result = await client.callTool(
    { name: tool("trigger-long-running-operation"), arguments: { duration: 0.5, steps: 5 } }, undefined,
    { onprogress: (p) => progress.push(p.progress) });
  return { progress, long: text(result) };
}

async function cancelled() {
  const abort = new AbortController();
  const began = Date.now();
  const answer = await refused(() => client.callTool(
    { name: tool("trigger-long-running-operation"), arguments: { duration: 60, steps: 600 } }, undefined,
    { signal: abort.signal, onprogress: () => abort.abort("enough") }));
  return Date.now() - began < 10_000 && !answer.message.includes("completed");
}

async function changedList() {
  const result = await client.callTool({ name: tool("gzip-file-as-resource"),
    arguments: { name: `${prefix}-typescript-${kind}.gz`, data: "data:text/plain,hello", outputType: "resourceLink" } });
  const link = result.content[0].uri;
  let listed = false;
  for (let seen = 0, end = Date.now() + 20_000; !listed && Date.now() < end;) { // what others make changes the list too
    if (seen === changes) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    seen = changes;
    listed = names((await client.listResources()).resources, "uri").includes(link);
  }
  const contents = (await client.readResource({ uri: link })).contents[0];
  return { link, listed, linkBlob: contents.blob ?? "", linkURI: contents.uri };
}

const transcript = {
  server: client.getServerVersion().name,
  tools: names((await client.listTools()).tools),
  prompts: names((await client.listPrompts()).prompts),
  resources: names((await client.listResources()).resources, "uri"),
  templates: names((await client.listResourceTemplates()).resourceTemplates, "uriTemplate"),
  echo: text(await client.callTool({ name: tool("echo"), arguments: { message: "grüße 👋" } })),
  sum: text(await client.callTool({ name: tool("get-sum"), arguments: { a: 2, b: 40 } })),
  ...await longWithProgress(),
  cancelled: await cancelled(),
  afterCancel: text(await client.callTool({ name: tool("echo"), arguments: { message: "still here" } })),
  read: (await client.readResource({ uri: uri("demo://resource/static/document/features.md") })).contents[0].text,
  dynamic: (await client.readResource({ uri: uri("demo://resource/dynamic/text/7") })).contents[0].text,
  blob: (await client.readResource({ uri: uri("demo://resource/dynamic/blob/7") })).contents[0].blob,
  prompt: (await client.getPrompt({ name: tool("args-prompt"), arguments: { city: "Ulm" } })).messages[0].content.text,
  noTool: await refused(() => client.callTool({ name: tool("no-such"), arguments: {} })),
  noPrompt: await refused(() => client.getPrompt({ name: tool("no-such") })),
  noResource: await refused(() => client.readResource({ uri: uri("demo://nothing") })),
  ...await changedList(),
};
await client.close();
console.log(JSON.stringify(transcript));
