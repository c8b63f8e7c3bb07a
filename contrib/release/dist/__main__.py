"""Packs the binaries of a release for npm, PyPI, desktop clients (.mcpb) and the MCP registry.

    python3 contrib/release/dist [DIST]

DIST is the output directory of goreleaser (default: dist). Its metadata.json has the version for all packages, and its
artifacts.json lists the binaries. The packages are written to DIST/npm, DIST/pypi, DIST/mcpb and DIST/registry. The variable
GOBLIN_OWNER is the GitHub account in their links and in the server's name.
"""

import json
import os
import sys
from pathlib import Path

import mcpb
import npm
import pypi
import registry
from release import PLATFORMS, Release


def read(dist: Path) -> Release:
    """Returns the release that goreleaser wrote to dist."""
    version = json.loads((dist / "metadata.json").read_text())["version"]
    by_target = {(p.goos, p.goarch): p for p in PLATFORMS}
    binaries = {}
    for artifact in json.loads((dist / "artifacts.json").read_text()):
        platform = by_target.get((artifact.get("goos"), artifact.get("goarch")))
        if artifact["type"] == "Binary" and platform:
            # The paths are relative to the directory in which goreleaser ran.
            binaries[platform] = dist.parent / artifact["path"]
    return Release(version, os.environ.get("GOBLIN_OWNER", "OWNER"), binaries, dist)


def main() -> None:
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    try:
        release = read(dist)
    except FileNotFoundError as error:
        sys.exit(f"error: {error.filename} does not exist\nhint: run `make snapshot` first")
    if not release.binaries:
        sys.exit(f"error: {dist} lists no binaries\nhint: run `make snapshot` first")
    npm.pack(release)
    pypi.pack(release)
    mcpb.pack(release)
    registry.pack(release)
    for platform in PLATFORMS:
        if platform not in release.binaries:
            print(f"not packed, because there is no binary: {platform.node}")


main()
