"""A server with the same tools in five Python libraries: server.py LIBRARY stdio | server.py LIBRARY HTTP STATELESS SSE (ports).

The tools store their state under a key that the caller passes, because many callers share the process.
"""

import asyncio
import base64
import logging
import sys
from typing import Any

library = sys.argv[1]
if library == "sdk1":
    import mcp.types as T
    from mcp.server.fastmcp import Context, FastMCP as Server
    from mcp.server.fastmcp.exceptions import ToolError
    from mcp.server.fastmcp.resources import FunctionResource, TextResource
elif library == "sdk2":
    import mcp_types as T
    from mcp.server.mcpserver import Context, MCPServer as Server
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.resources import TextResource
else:
    if library == "fastmcp4":
        import mcp_types as T
    else:
        import mcp.types as T
    from fastmcp import Context, FastMCP as Server
    from fastmcp.exceptions import ToolError
    from fastmcp.resources import TextResource
    from fastmcp.server.middleware import Middleware
    from fastmcp.tools import Tool

sdk = library.startswith("sdk")
second = library in ("sdk2", "fastmcp4")  # based on SDK 2, which supports both eras
ended: dict[str, int] = {}  # number of cancelled calls of wait, by key


def make(kind, **members):
    """Builds a type of the protocol from its names on the wire, which the two SDKs spell differently in Python."""
    return kind.model_validate(members)


form = {"type": "object", "properties": {"colour": {"type": "string", "description": "wörd <&> \u2028"}}, "required": ["colour"]}
sample = {"messages": [{"role": "user", "content": {"type": "text", "text": "say <it>"}}], "maxTokens": 7}


def modern(ctx):
    if library == "sdk2":
        return (ctx.protocol_version or "") >= "2026"
    return library == "fastmcp4" and ctx._is_modern_protocol()


def resource(uri, text, name):
    return TextResource(uri=uri, name=name, text=text)


def hidden(uri):
    return str(uri).startswith("hidden:")


if library == "sdk1" or library == "sdk2":

    class Hides(Server):
        """Does not list resources whose URI starts with hidden:, but serves them."""

        async def list_resources(self):
            return [r for r in await super().list_resources() if not hidden(r.uri)]

else:
    Hides = Server

    class Hide(Middleware):
        async def on_list_resources(self, context, call_next):
            return [r for r in await call_next(context) if not hidden(r.uri)]


def lowlevel(server):
    return server._lowlevel_server if library == "sdk2" else server._mcp_server


def build():
    server = Hides(f"{library} server")
    if not sdk:
        server.add_middleware(Hide())
    tools(server)
    questions(server)
    changes(server)
    things(server)
    return server


def tools(server):
    @server.tool()
    def odd(value: Any) -> dict[str, Any]:
        """Returns its argument."""
        return {"value": value, "kind": type(value).__name__}

    @server.tool()
    def add(a: int, b: int = 2) -> int:
        """Adds."""
        return a + b

    @server.tool()
    def fail(text: str) -> str:
        """Returns a result with isError."""
        raise ToolError(text)

    @server.tool()
    def mixed() -> list[Any]:
        """Returns one content block of each kind."""
        return [
            make(T.TextContent, type="text", text="a <b> & \u2028 ü", annotations={"audience": ["user"], "priority": 0.5}),
            make(T.ImageContent, type="image", data="aGk=", mimeType="image/png"),
            make(T.AudioContent, type="audio", data="aGk=", mimeType="audio/wav"),
            make(T.EmbeddedResource, type="resource", resource={"uri": "note://embedded", "text": "in it", "mimeType": "text/plain"}),
            make(T.ResourceLink, type="resource_link", uri="note://plain", name="plain"),
        ]

    @server.tool()
    async def steps(n: int, ctx: Context) -> str:
        """Reports progress."""
        for i in range(n):
            await ctx.report_progress(i + 1, n, f"step {i + 1}")
        return f"{n} steps"

    @server.tool()
    async def speak(key: str, ctx: Context) -> str:
        """Writes log lines."""
        for level in ("debug", "info", "warning", "error"):
            await ctx.log(level, f"{level} {key}") if sdk else await ctx.log(f"{level} {key}", level=level)
        return "said"

    @server.tool()
    async def wait(key: str, ctx: Context) -> str:
        """Ends when it is cancelled."""
        try:
            await ctx.report_progress(1, 2, "waiting")
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            ended[key] = ended.get(key, 0) + 1
            raise
        return "not cancelled"

    @server.tool()
    def cancelled(key: str) -> int:
        """Returns the number of cancelled calls of wait."""
        return ended.get(key, 0)


def questions(server):
    @server.tool()
    async def elicit(key: str, ctx: Context) -> str:
        """Sends an elicitation request, which only the legacy era has."""
        r = await ctx.session.elicit(f"Which colour, {key}?", form, related_request_id=ctx.request_id)
        return f"{r.action} {r.content}"

    @server.tool()
    async def think(key: str, ctx: Context) -> str:
        """Sends a sampling request."""
        messages = [make(T.SamplingMessage, **m) for m in sample["messages"]]
        r = await ctx.session.create_message(messages, max_tokens=7, related_request_id=ctx.request_id)
        return f"{r.model} {r.content.text}"

    @server.tool()
    async def places(ctx: Context) -> str:
        """Sends a roots request."""
        return " ".join(str(r.uri) for r in (await ctx.session.list_roots()).roots)

    if not second:
        return

    @server.tool()
    async def either(key: str, ctx: Context) -> Any:
        """Requests input in the way of the era."""
        if not modern(ctx):
            r = await ctx.session.elicit(f"Which colour, {key}?", form, related_request_id=ctx.request_id)
        elif ctx.input_responses:
            r = ctx.input_responses["colour"]
        else:
            ask = {"method": "elicitation/create", "params": {"mode": "form", "message": f"Which colour, {key}?", "requestedSchema": form}}
            return make(T.InputRequiredResult, resultType="input_required", inputRequests={"colour": ask}, requestState=f"state {key}")
        return f"{r.action} {r.content}"


def changes(server):
    def new() -> str:
        """New."""
        return "new"

    async def tell(ctx, kind):
        if library == "sdk2" and modern(ctx):
            await getattr(ctx, f"notify_{kind}s_changed")()
        elif library in ("sdk1", "sdk2") or library == "fastmcp4" and not modern(ctx):
            await getattr(ctx.session, f"send_{kind}_list_changed")()
        elif library == "fastmcp3":
            await ctx.send_notification(T.ToolListChangedNotification())

    @server.tool()
    async def grow(name: str, ctx: Context) -> str:
        """Adds a tool and notifies the client."""
        server.add_tool(new, name=name) if sdk else server.add_tool(Tool.from_function(new, name=name))
        await tell(ctx, "tool")
        return "added"

    @server.tool()
    async def shrink(name: str, ctx: Context) -> str:
        """Removes the added tool."""
        server.remove_tool(name) if library in ("sdk1", "sdk2", "fastmcp2") else server.local_provider.remove_tool(name)
        await tell(ctx, "tool")
        return "removed"

    @server.tool()
    async def link(key: str) -> Any:
        """Links to a resource that is not listed."""
        server.add_resource(resource(f"hidden://{key}", f"found {key}", "hidden"))
        return [make(T.ResourceLink, type="resource_link", uri=f"hidden://{key}", name="hidden", mimeType="text/plain")]

    @server.tool()
    async def touch(uri: str, ctx: Context) -> str:
        """Notifies the client that a resource was updated."""
        if library == "sdk2" and modern(ctx):
            await ctx.notify_resource_updated(uri)
        else:
            await ctx.session.send_resource_updated(uri)
        return "touched"


def things(server):
    @server.resource("note://plain", name="plain", mime_type="text/plain")
    def plain() -> str:
        """A note."""
        return "plain <&> ü \u2028"

    @server.resource("note://bytes", name="bytes", mime_type="application/octet-stream")
    def blob() -> bytes:
        return b"\x00\xff bytes"

    @server.resource("note://broken", name="broken")
    def broken() -> str:
        raise ValueError("it is broken")

    @server.resource("note://by/{name}", name="by")
    def by(name: str) -> str:
        return f"by {name}"

    if not sdk:

        @server.resource("tree://{path*}", name="tree")
        def tree(path: str) -> str:
            return f"at {path}"

    @server.prompt()
    def greet(name: str, style: str = "plain") -> str:
        """Greets."""
        return f"Say hello to {name} in a {style} way."

    @server.prompt()
    def broke(name: str) -> str:
        """Fails."""
        raise ValueError(f"no {name}")

    async def complete(ref, argument, context):
        given = dict(context.arguments or {}) if context else {}
        values = [f"{getattr(ref, 'name', None) or ref.uri} {argument.name} {argument.value}", f"{sorted(given.items())}"]
        return make(T.Completion, values=values, total=2, hasMore=False)

    if library in ("sdk1", "sdk2", "fastmcp4"):
        server.completion()(complete)
    else:
        lowlevel(server).completion()(complete)


def subscriptions(server):
    """Declares subscriptions: SDK 1 has handlers for them, but its servers do not declare the capability."""
    if second:
        return
    low = lowlevel(server)

    async def nothing(uri):
        pass

    low.subscribe_resource()(nothing)
    low.unsubscribe_resource()(nothing)
    capabilities = low.get_capabilities

    def more(*args, **kwargs):
        c = capabilities(*args, **kwargs)
        c.resources.subscribe = True
        c.tools.listChanged = True
        return c

    low.get_capabilities = more


async def listen(ports):
    import uvicorn

    def app(kind):
        server = build()
        subscriptions(server)
        if not sdk:
            return server.http_app(path="/sse" if kind == "sse" else "/mcp", transport="sse" if kind == "sse" else "http", stateless_http=kind == "stateless")
        if library == "sdk2":
            return server.sse_app() if kind == "sse" else server.streamable_http_app(stateless_http=kind == "stateless")
        server.settings.stateless_http = kind == "stateless"
        return server.sse_app() if kind == "sse" else server.streamable_http_app()

    servers = [
        uvicorn.Server(uvicorn.Config(app(kind), host="127.0.0.1", port=int(port), log_level="error", timeout_graceful_shutdown=1))
        for kind, port in zip(("http", "stateless", "sse"), ports)
    ]
    await asyncio.gather(*(s.serve() for s in servers))


logging.disable(logging.CRITICAL)
if sys.argv[2] == "stdio":
    server = build()
    subscriptions(server)
    if sdk:
        server.run("stdio")
    else:
        server.run("stdio", show_banner=False)
else:
    asyncio.run(listen(sys.argv[2:]))
