"""Desktop extensions (.mcpb), validated and packed by @anthropic-ai/mcpb: one per platform."""

import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from release import CONTRIB, ROOT, Platform, Release, add, copy_program, write_json

TOOL = CONTRIB / "mcpb" / "node_modules" / ".bin" / "mcpb"


def file_name(release: Release, platform: Platform) -> str:
    return f"goblin-actor-{release.version}-{platform.node}.mcpb"


def pack(release: Release) -> None:
    out = release.empty("mcpb")
    for platform, binary in release.binaries.items():
        with tempfile.TemporaryDirectory() as stage:
            copy_program(binary, Path(stage) / "server" / platform.program)
            write_json(Path(stage) / "manifest.json", manifest(release, platform))
            shutil.copyfile(ROOT / "LICENSE", Path(stage) / "LICENSE")
            target = out / file_name(release, platform)
            subprocess.run([TOOL, "pack", stage, target], check=True, stdout=subprocess.DEVNULL)
            fix_times(target)
            print(target.name)


def manifest(release: Release, platform: Platform) -> dict:
    document = release.document(CONTRIB / "mcpb" / "manifest.json")
    document["compatibility"] = {"platforms": [platform.node.split("-")[0]]}
    server = document["server"]
    server["entry_point"] = f"server/{platform.program}"
    server["mcp_config"]["command"] = f"${{__dirname}}/server/{platform.program}"
    return document


def fix_times(path: Path) -> None:
    """Writes the archive anew with fixed times. The tool gives all entries the current time."""
    with zipfile.ZipFile(path) as archive:
        files = [(i.filename, archive.read(i), i.external_attr >> 16 & 0o777) for i in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data, mode in sorted(files):
            add(archive, name, data, mode)
