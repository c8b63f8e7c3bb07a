"""The functions of a client that the conversations need, for five libraries. Results are as sent on the wire, as far as the library exposes that."""

import asyncio
import contextlib

library = None
T = None
Problem = None  # the exception that the library raises for a JSON-RPC error


def use(name):
    global library, T, Problem
    library = name
    if name in ("sdk2", "fastmcp4"):
        import mcp_types
        from mcp.shared.exceptions import MCPError

        T, Problem = mcp_types, MCPError
    else:
        import mcp.types
        from mcp.shared.exceptions import McpError

        T, Problem = mcp.types, McpError


def plain(value):
    """Returns the members that were present, by their names on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def make(kind, **members):
    return kind.model_validate(members)


class Heard:
    """The notifications and requests that a client has received, with a way to wait for them."""

    def __init__(self):
        self.logs, self.asked, self.notes, self.news = [], [], [], asyncio.Event()

    def add(self, where, what):
        where.append(what)
        self.news.set()

    async def until(self, true):
        while not true():
            self.news.clear()
            await self.news.wait()

    async def message(self, message):
        note = getattr(message, "root", message)
        if hasattr(note, "method"):
            self.add(self.notes, plain(note))

    async def log(self, params):
        self.add(self.logs, plain(params))

    def elicited(self, params):
        self.add(self.asked, {"elicit": plain(params)})
        return {"colour": "grün <&>"}

    def sampled(self, params):
        self.add(self.asked, {"sample": plain(params)})
        return make(T.CreateMessageResult, role="assistant", content={"type": "text", "text": "thought <&>"}, model="mödel", stopReason="endTurn")


roots = [{"uri": "file:///one%20place", "name": "one"}, {"uri": "file:///two"}]


@contextlib.asynccontextmanager
async def connect(to, mode, deaf=False):
    """Connects to {"url"} or {"command", "args"}; mode is a protocol mode of SDK 2. A deaf client declares no capabilities."""
    heard = Heard()
    async with _client(to, mode, heard, deaf) as client:
        yield Peer(client, heard)


def _client(to, mode, heard, deaf):
    if library == "sdk1":
        return _first(to, heard, deaf)
    if library == "sdk2":
        return _second(to, mode, heard, deaf)
    from fastmcp import Client
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

    if to.get("command"):
        transport = StdioTransport(to["command"], to["args"], keep_alive=False)
    else:
        transport = (SSETransport if to["url"].endswith("/sse") else StreamableHttpTransport)(to["url"])

    async def elicit(message, response_type, params, context):
        return heard.elicited(params)

    async def sample(messages, params, context):
        return heard.sampled(params)

    able = {} if deaf else {"elicitation_handler": elicit, "sampling_handler": sample, "roots": [make(T.Root, **r) for r in roots]}
    if library == "fastmcp4":
        able |= {"mode": mode, "cache": False}
    return Client(transport, log_handler=heard.log, message_handler=heard.message, **able)


def _callbacks(heard, deaf):
    async def elicit(context, params):
        return make(T.ElicitResult, action="accept", content=heard.elicited(params))

    async def sample(context, params):
        return heard.sampled(params)

    async def places(context):
        return make(T.ListRootsResult, roots=roots)

    able = {} if deaf else {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": places}
    return able | {"logging_callback": heard.log, "message_handler": heard.message}


@contextlib.asynccontextmanager
async def _first(to, heard, deaf):
    from mcp import ClientSession, StdioServerParameters, stdio_client
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamablehttp_client

    if to.get("command"):
        way = stdio_client(StdioServerParameters(command=to["command"], args=to["args"]))
    elif to["url"].endswith("/sse"):
        way = sse_client(to["url"])
    else:
        way = streamablehttp_client(to["url"])
    async with way as streams, ClientSession(streams[0], streams[1], **_callbacks(heard, deaf)) as session:
        await session.initialize()
        yield session


def _second(to, mode, heard, deaf):
    from mcp import Client, StdioServerParameters
    from mcp.client.sse import sse_client

    if to.get("command"):
        server = StdioServerParameters(command=to["command"], args=to["args"])
    else:
        server = sse_client(to["url"]) if to["url"].endswith("/sse") else to["url"]
    return Client(server, mode=mode, cache=None, log_level="debug", **_callbacks(heard, deaf))


class Peer:
    def __init__(self, client, heard):
        self.client, self.heard = client, heard
        self.session = client if library == "sdk1" else client.session
        self.fast = library.startswith("fastmcp")
        version = getattr(client, "protocol_version", None)
        self.modern = (version or "") >= "2026" if library in ("sdk2", "fastmcp4") else False

    def _uri(self, uri):
        if library in ("sdk2", "fastmcp4"):
            return uri
        from pydantic import AnyUrl

        return AnyUrl(uri)

    async def list(self, kind):
        """Lists tools, resources, resource_templates or prompts. Raises an exception if there is more than one page."""
        one = getattr(self.client, f"list_{kind}_mcp" if self.fast else f"list_{kind}")
        result = plain(await one())
        if result.get("nextCursor"):
            raise AssertionError("more than one page")
        return result

    async def call(self, name, arguments, progress=None):
        if self.fast:
            return plain(await self.client.call_tool_mcp(name, arguments, progress_handler=progress))
        return plain(await self.client.call_tool(name, arguments, progress_callback=progress))

    async def read(self, uri):
        if self.fast:
            return plain(await self.client.read_resource_mcp(uri))
        return plain(await self.client.read_resource(self._uri(uri)))

    async def prompt(self, name, arguments):
        if self.fast:
            return plain(await self.client.get_prompt_mcp(name, arguments))
        return plain(await self.client.get_prompt(name, arguments))

    async def complete(self, ref, name, value, given=None):
        kind = T.PromptReference if ref["type"] == "ref/prompt" else T.ResourceTemplateReference
        complete = self.client.complete_mcp if self.fast else self.client.complete
        return plain(await complete(make(kind, **ref), {"name": name, "value": value}, given))

    async def ping(self):
        return plain(await self.session.send_ping())

    async def level(self, level):
        await self.session.set_logging_level(level)

    async def abandon(self, name, arguments, begun):
        """Makes a call and cancels it at its first progress notification. Returns the result if the call ends before, otherwise None."""

        async def progress(*_):
            begun.set()

        if library in ("sdk2", "fastmcp4"):  # leaving the scope of a call cancels it
            call = asyncio.create_task(self.session.call_tool(name, arguments, progress_callback=progress))
        else:  # SDK 1 leaves this to the caller
            number = self.session._request_id
            call = asyncio.create_task(self.session.call_tool(name, arguments, progress_callback=progress))
        first = asyncio.create_task(begun.wait())
        await asyncio.wait([call, first], return_when=asyncio.FIRST_COMPLETED)
        first.cancel()
        if not begun.is_set():
            return plain(await call)
        if library not in ("sdk2", "fastmcp4"):
            note = T.CancelledNotification(method="notifications/cancelled", params=make(T.CancelledNotificationParams, requestId=number, reason="enough"))
            await self.session.send_notification(T.ClientNotification(note))
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await call

    @contextlib.asynccontextmanager
    async def listening(self, uri=None):
        """Listens for changes of the resource, or of the tools if there is no uri. The modern era uses a stream, the legacy era a subscription."""
        if self.modern:
            from mcp.client.subscriptions import listen

            async with listen(self.session, tools_list_changed=uri is None, resource_subscriptions=[uri] if uri else []) as stream:

                async def take():
                    async for event in stream:
                        uri = getattr(event, "uri", None)
                        note = {"method": "notifications/resources/updated", "params": {"uri": uri}} if uri else {"method": "notifications/tools/list_changed"}
                        self.heard.add(self.heard.notes, note)

                task = asyncio.create_task(take())
                try:
                    yield
                finally:
                    task.cancel()
            return
        if uri:
            await self.session.subscribe_resource(self._uri(uri))
        yield
        if uri:
            await self.session.unsubscribe_resource(self._uri(uri))
