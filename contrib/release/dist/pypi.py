"""Wheels for PyPI: one per platform, with the program as a script and no Python code."""

import base64
import hashlib
import re
import zipfile

from release import CONTRIB, ROOT, Platform, Release, add

METADATA = """\
Metadata-Version: 2.4
Name: goblin-actor
Version: {version}
Summary: Gateway for the Model Context Protocol (MCP): one endpoint for many MCP servers
Keywords: mcp,model-context-protocol,gateway,proxy
License-Expression: Apache-2.0
License-File: LICENSE
Project-URL: Homepage, https://github.com/{owner}/goblin-actor
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""


def pep440(version: str) -> str:
    """Returns a semantic version as PEP 440 writes it: 1.2.0-rc.1 is 1.2.0rc1, and 1.2.0-snapshot.4f2a is 1.2.0.dev0+4f2a."""
    number, _, pre = version.partition("-")
    if not pre:
        return number
    kind, _, rest = pre.partition(".")
    if kind in ("rc", "alpha", "beta"):
        return number + {"rc": "rc", "alpha": "a", "beta": "b"}[kind] + (rest or "0")
    return number + ".dev0+" + re.sub("[^a-z0-9]+", ".", (rest or kind).lower())


def pack(release: Release) -> None:
    out = release.empty("pypi")
    version = pep440(release.version)
    for platform, binary in release.binaries.items():
        name = f"goblin_actor-{version}-py3-none-{'.'.join(platform.wheel)}.whl"
        write_wheel(out / name, contents(release, version, platform), f"goblin_actor-{version}.dist-info/RECORD")
        print(name)


def contents(release: Release, version: str, platform: Platform) -> list[tuple[str, bytes, int]]:
    """Returns the files of a wheel except RECORD: name, data and mode."""
    readme = release.text(CONTRIB / "pypi" / "README.md")
    metadata = METADATA.format(version=version, owner=release.owner, readme=readme)
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.wheel)
    wheel = f"Wheel-Version: 1.0\nGenerator: goblin-actor\nRoot-Is-Purelib: false\n{tags}"
    base = f"goblin_actor-{version}"
    return [
        (f"{base}.data/scripts/{platform.program}", release.binaries[platform].read_bytes(), 0o755),
        (f"{base}.dist-info/METADATA", metadata.encode(), 0o644),
        (f"{base}.dist-info/WHEEL", wheel.encode(), 0o644),
        (f"{base}.dist-info/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), 0o644),
    ]


def write_wheel(path, files: list[tuple[str, bytes, int]], record: str) -> None:
    lines = ""
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines += f"{name},sha256={digest},{len(data)}\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data, mode in [*files, (record, f"{lines}{record},,\n".encode(), 0o644)]:
            add(archive, name, data, mode)
