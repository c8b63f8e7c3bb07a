"""A client of a Python library: client.py LIBRARY. Each line on stdin names a server and conversations; each line on stdout has the results:

    {"to": {"url"|"command", "args"}, "mode", "prefix", "uris", "key", "talks": [names], "limited": [names]}
    {"talks": {name: {"saw": what the server sent, "wrong": why that is wrong; "" if it is right}}}

The gateway puts prefix before names and uris before URIs; both are removed from the results. Conversations in limited are known not to
work and get a shorter timeout.
"""

import asyncio
import contextlib
import json
import logging
import sys

import peers

PATIENCE, LIMITED = 300, 1.5  # timeouts of a conversation in seconds; the first one should never be reached

odd = [
    0, -1, 1.5, 1e-7, 2**53 - 1, -(2**53) + 1, 12345678901234567890, True, False, None, "", " ", "ü \u2028 \U0001f47a <&> \" \\ \n \x00",
    [], {}, [[[]]], {"": {"$ref": "x", "a.b": [None]}}, {"z": 1, "a": 2}, "x" * 5000, [1, "1", 1.0, True],
]  # fmt: skip


class Wrong(Exception):
    pass


def must(true, why, *what):
    if not true:
        raise Wrong(" ".join([why, *map(repr, what)])[:500])


async def outcome(doing):
    """Returns the result, or the error."""
    try:
        return await doing
    except peers.Problem as e:
        return {"error": peers.plain(e.error)}


def text(result):
    return result["content"][0]["text"] if result.get("content") else json.dumps(result)


class Talks:
    """The conversations with one server. Each method is a conversation. It raises Wrong, or records in saw what the server sent."""

    def __init__(self, peer, task):
        self.peer, self.heard, self.saw = peer, peer.heard, {}
        self.prefix, self.uris, self.key, self.to, self.mode = task["prefix"], task["uris"], task["key"], task["to"], task["mode"]

    def call(self, name, arguments=None, **more):
        return outcome(self.peer.call(self.prefix + name, arguments or {}, **more))

    def read(self, uri):
        return outcome(self.peer.read(self.uris + uri))

    async def list(self):
        for kind, of in (("tools", "tools"), ("resources", "resources"), ("resource_templates", "resourceTemplates"), ("prompts", "prompts")):
            result = await self.peer.list(kind)
            key = {"resources": "uri", "resourceTemplates": "uriTemplate"}.get(of, "name")
            prefix = self.prefix if key == "name" else self.uris
            mine = [i for i in result[of] if i[key].startswith(prefix) and not i["name"].removeprefix(self.prefix).startswith("new")]
            self.saw[of] = sorted(mine, key=lambda i: i[key])  # with several servers, the gateway decides the order
        must(len(self.saw["tools"]) > 10, "tools", self.saw["tools"])
        must(len(self.saw["resources"]) == 3, "resources", self.saw["resources"])
        must(len(self.saw["prompts"]) == 2, "prompts", self.saw["prompts"])

    async def odd(self):
        results = self.saw["results"] = [await self.call("odd", {"value": value}) for value in odd]
        for value, result in zip(odd, results):
            got = result["structuredContent"]["value"]
            must(got == value and type(got) is type(value), "odd", value, result)

    async def many(self):
        results = await asyncio.gather(*(self.call("odd", {"value": f"{self.key} {i}"}) for i in range(20)))
        for i, result in enumerate(results):
            must(result["structuredContent"]["value"] == f"{self.key} {i}", "the result of another call", i, result)

    async def add(self):
        for name, arguments in {"both": {"a": 1, "b": 5}, "default": {"a": 1}, "missing": {}, "wrong": {"a": "x"}, "more": {"a": 1, "c": 2}}.items():
            self.saw[name] = await self.call("add", arguments)
        must(text(self.saw["both"]) == "6" and text(self.saw["default"]) == "3", "sum", self.saw)

    async def fail(self):
        self.saw = await self.call("fail", {"text": "it <failed> & ü"})
        must(self.saw.get("isError") and "it <failed> & ü" in text(self.saw), "failure", self.saw)

    async def unknown(self):
        for result in (await self.call("no_such"), await self.read("note://nowhere"), await outcome(self.peer.prompt(self.prefix + "no_such", {}))):
            must("error" in result or result.get("isError"), "no error for an unknown item", result)

    async def mixed(self):
        self.saw = await self.call("mixed")
        must([c["type"] for c in self.saw["content"]] == ["text", "image", "audio", "resource", "resource_link"], "kinds", self.saw)

    async def progress(self):
        seen = []

        async def progress(n, total, message):
            self.heard.add(seen, [n, total, message])

        self.saw = await self.call("steps", {"n": 3}, progress=progress)
        must(text(self.saw) == "3 steps", "steps", self.saw)
        # Progress may be dropped or arrive late. What arrives must be the server's, and must grow.
        await self.heard.until(lambda: seen)
        must(all(s == [s[0], 3, f"step {int(s[0])}"] for s in seen) and sorted(seen) == seen, "progress", seen)

    async def log(self):
        if not self.peer.modern:
            self.saw["level"] = await outcome(self.peer.level("debug"))
        must(text(await self.call("speak", {"key": self.key})) == "said", "speak")

        def mine():
            return [line for line in self.heard.logs if self.key in json.dumps(line)]

        await self.heard.until(lambda: len(mine()) >= 4)
        self.saw["lines"] = [json.loads(json.dumps(line).replace(self.key, "KEY")) for line in mine()]

    async def cancel(self):
        answer = await self.peer.abandon(self.prefix + "wait", {"key": self.key}, asyncio.Event())
        must(answer is None, "answered", answer)
        while text(await self.call("cancelled", {"key": self.key})) == "0":
            await asyncio.sleep(0.05)
        must((await self.peer.list("tools"))["tools"], "no tools after a cancel")

    async def asks(self, tool, want):
        del self.heard.asked[:]
        self.saw["result"] = await self.call(tool, {} if tool == "places" else {"key": "KEY"})
        self.saw["asked"] = list(self.heard.asked)
        must(want in text(self.saw["result"]), tool, self.saw)

    async def elicit(self):
        await self.asks("elicit", "accept {'colour': 'grün <&>'}")

    async def sample(self):
        await self.asks("think", "mödel thought <&>")

    async def roots(self):
        await self.asks("places", "file:///one%20place file:///two")

    async def either(self):
        await self.asks("either", "accept {'colour': 'grün <&>'}")

    async def refuse(self):
        """A client without capabilities gets an error, and other clients are not affected."""
        async with peers.connect(self.to, self.mode, deaf=True) as deaf:
            result = await outcome(deaf.call(self.prefix + "elicit", {"key": "KEY"}))
            must("error" in result or result.get("isError"), "a result although no client can answer", result)
            must((await deaf.list("tools"))["tools"], "no tools after a server request")
        must(text(await self.call("add", {"a": 1})) == "3", "another client")

    async def resources(self):
        names = ("note://plain", "note://bytes", "note://by/x", "note://by/a%20b%3F", "note://by/%C3%BC")
        for uri in names:
            self.saw[uri] = await self.read(uri)
        must(self.saw["note://by/x"]["contents"][0]["text"] == "by x", "template", self.saw)
        must("blob" in self.saw["note://bytes"]["contents"][0], "bytes", self.saw)
        self.saw["broken"] = await self.read("note://broken")
        must("error" in self.saw["broken"], "broken", self.saw)

    async def tree(self):
        for uri in ("tree://a", "tree://a/b/c.txt", "tree://a/b%20c/d"):
            self.saw[uri] = await self.read(uri)
            must("contents" in self.saw[uri], "tree", uri, self.saw)

    async def link(self):
        result = await self.call("link", {"key": self.key.lower()})
        link = result["content"][0]
        must(link["type"] == "resource_link", "link", result)
        self.saw = json.loads(json.dumps(await outcome(self.peer.read(link["uri"]))).replace(self.key.lower(), "KEY"))
        must(self.saw.get("contents"), "linked", link, self.saw)

    async def prompts(self):
        for name, prompt, arguments in (("one", "greet", {"name": "ü <&>"}), ("two", "greet", {"name": "x", "style": "odd"}), ("missing", "greet", {}), ("broke", "broke", {"name": "x"})):  # fmt: skip
            self.saw[name] = await outcome(self.peer.prompt(self.prefix + prompt, arguments))
        must("odd way" in json.dumps(self.saw["two"]), "prompt", self.saw)

    async def complete(self):
        prompt = {"type": "ref/prompt", "name": self.prefix + "greet"}
        template = {"type": "ref/resource", "uri": self.uris + "note://by/{name}"}
        self.saw["prompt"] = await outcome(self.peer.complete(prompt, "name", "ü"))
        self.saw["template"] = await outcome(self.peer.complete(template, "name", "<&>", {"other": "given"}))
        must("other" in json.dumps(self.saw["template"]) and "completion" in self.saw["prompt"], "completion", self.saw)

    async def subscribe(self):
        uri = self.uris + "note://plain"
        async with self.peer.listening(uri):
            must(text(await self.call("touch", {"uri": "note://plain"})) == "touched", "touch")

            def mine():
                return [n for n in self.heard.notes if n["method"] == "notifications/resources/updated" and n["params"]["uri"] == uri]

            await self.heard.until(mine)

    async def grow(self):
        name = f"new{self.key}"
        async with self.peer.listening():
            for tool, there in (("grow", True), ("shrink", False)):
                before = len(self.heard.notes)
                answer = text(await self.call(tool, {"name": name}))
                must(answer in ("added", "removed"), "answer", answer)
                while True:
                    await self.heard.until(lambda: any(n["method"] == "notifications/tools/list_changed" for n in self.heard.notes[before:]))
                    before = len(self.heard.notes)
                    if there == any(t["name"] == self.prefix + name for t in (await self.peer.list("tools"))["tools"]):
                        break
                if there:
                    self.saw = await self.call(name)
                    must(text(self.saw) == "new", "the new tool", self.saw)

    async def found(self):
        """A tool that the server adds without a notification is found by its name and in the next list."""
        name = f"new{self.key}"
        await self.call("grow", {"name": name})
        while text(await self.call(name)) != "new":
            await asyncio.sleep(0.05)
        while not any(t["name"] == self.prefix + name for t in (await self.peer.list("tools"))["tools"]):
            await asyncio.sleep(0.05)
        await self.call("shrink", {"name": name})

    async def ping(self):
        self.saw = await outcome(self.peer.ping())
        must("error" not in self.saw, "ping", self.saw)


async def converse(task):
    """Runs all conversations over one connection. If a conversation breaks the connection or times out, the next one gets a new connection."""
    done, left, failed = {}, list(task["talks"]), 0
    while left:
        before = len(left)
        try:
            async with peers.connect(task["to"], task["mode"]) as peer:
                while left and await one(task, peer, left.pop(0), done):
                    pass
        except Exception as e:  # libraries also raise an exception if requests are still open when the connection is closed
            if len(left) == before:
                failed += 1
                if failed == 3:
                    why = f"cannot connect: {type(e).__name__}: {e} {getattr(e, 'exceptions', '')}"[:500]
                    done |= {name: {"saw": None, "wrong": why} for name in left}
                    break
    return done


async def one(task, peer, name, done):
    """Runs one conversation and returns whether the connection can still be used."""
    talks = Talks(peer, task)
    told = done[name] = {"saw": None, "wrong": "the connection broke"}
    limit = LIMITED if name in task["limited"] else PATIENCE
    try:
        await asyncio.wait_for(getattr(talks, name)(), limit)
        told["wrong"] = ""
    except asyncio.TimeoutError:
        told["wrong"] = f"nothing for {limit} s; {talks.saw!r}"[:500]
    except Exception as e:
        told["wrong"] = f"{type(e).__name__}: {e}"[:800]
        if isinstance(e, (Wrong, peers.Problem)):  # the server answered, so the connection is kept; a new one might reach another process
            told["saw"] = talks.saw
            return True
    told["saw"] = talks.saw
    return told["wrong"] == ""


async def main():
    logging.disable(logging.CRITICAL)
    peers.use(sys.argv[1])
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        task = json.loads(line)
        done = json.dumps(await converse(task))
        for prefix, instead in ((task["uris"], ""), ('"' + task["prefix"] if task["prefix"] else "", '"')):
            done = done.replace(prefix, instead) if prefix else done
        print(json.dumps({"talks": json.loads(done)}), flush=True)


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
