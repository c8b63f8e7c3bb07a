// Starts an unpacked extension as a desktop client does, and calls a tool whose name ends in _add_note. Usage: try.mjs DIRECTORY [CONFIGURATION]
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [directory, configuration] = process.argv.slice(2);
const server = await getMcpConfigForManifest({
  manifest: JSON.parse(readFileSync(`${directory}/manifest.json`, "utf8")),
  extensionPath: resolve(directory),
  systemDirs: {},
  userConfig: configuration ? { configuration } : {},
  pathSeparator: "/",
});
const child = spawn(server.command, server.args, { env: { ...process.env, ...server.env }, stdio: ["pipe", "pipe", "ignore"] });
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

// request sends a request and returns its result.
async function request(id, method, params) {
  child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the extension ended before it answered ${method}`);
    const message = JSON.parse(value);
    if (message.id === id) return message.result ?? message.error;
  }
}

const clientInfo = { name: "try", version: "1" };
const { serverInfo } = await request(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
console.log("server:", serverInfo.name, serverInfo.version);
const { tools } = await request(2, "tools/list", {});
console.log("tools:", tools.map((tool) => tool.name).join(" "));
const { name } = tools.find((tool) => tool.name.endsWith("_add_note"));
const { content } = await request(3, "tools/call", { name, arguments: { title: "milk", text: "two bottles" } });
console.log(`result of ${name}:`, content[0].text ?? content[0].type);
child.stdin.end();
child.on("exit", (code) => console.log("exit code:", code));
