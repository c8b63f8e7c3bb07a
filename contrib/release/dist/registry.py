"""The server.json of the MCP registry, validated against the registry's own schema."""

import hashlib
import json
import subprocess
from pathlib import Path

from mcpb import file_name
from pypi import pep440
from release import CONTRIB, ROOT, Release, write_json

# The Go module of the registry contains the schemas that it accepts.
SOURCE = "github.com/modelcontextprotocol/registry@v1.8.9"
SCHEMA = "internal/validators/schemas/2025-12-11.json"


def pack(release: Release) -> None:
    out = release.empty("registry") / "server.json"
    document = release.document(CONTRIB / "registry" / "server.json")
    for package in document["packages"]:
        package["version"] = pep440(release.version) if package["registryType"] == "pypi" else release.version
    for platform in release.binaries:
        name = file_name(release, platform)
        document["packages"].append({
            "registryType": "mcpb",
            "identifier": f"{document['repository']['url']}/releases/download/v{release.version}/{name}",
            "fileSha256": hashlib.sha256((release.dist / "mcpb" / name).read_bytes()).hexdigest(),
            "transport": {"type": "stdio"},
        })
    write_json(out, document)
    subprocess.run(["go", "run", "./contrib/registry/check", schema(), out], cwd=ROOT, check=True)
    print(f"{out.name} is valid")


def schema() -> Path:
    """Returns the path of the schema in Go's module cache."""
    # The command runs outside of the repository, so that go does not use the repository's go.mod.
    result = subprocess.run(["go", "mod", "download", "-json", SOURCE], cwd="/", check=True, capture_output=True, text=True)
    return Path(json.loads(result.stdout)["Dir"]) / SCHEMA
