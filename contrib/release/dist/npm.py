"""npm packages: one per platform with the program, and goblin-actor, which starts it."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from release import CONTRIB, PLATFORMS, ROOT, Platform, Release, copy_program, write_json

SCOPE = "@goblin-actor/"


def pack(release: Release) -> None:
    out = release.empty("npm")
    for platform, binary in release.binaries.items():
        with tempfile.TemporaryDirectory() as stage:
            copy_program(binary, Path(stage) / "bin" / platform.program)
            write_json(Path(stage) / "package.json", platform_manifest(release, platform))
            text = f"The program of the package goblin-actor for {platform.node}. Install goblin-actor instead.\n"
            (Path(stage) / "README.md").write_text(text)
            npm_pack(stage, out)
    with tempfile.TemporaryDirectory() as stage:
        (Path(stage) / "bin").mkdir()
        launcher = Path(stage) / "bin" / "goblin-actor.js"
        shutil.copyfile(CONTRIB / "npm" / "launcher.js", launcher)
        launcher.chmod(0o755)
        manifest = release.document(CONTRIB / "npm" / "package.json")
        manifest["optionalDependencies"] = {SCOPE + p.node: release.version for p in PLATFORMS}
        write_json(Path(stage) / "package.json", manifest)
        (Path(stage) / "README.md").write_text(release.text(CONTRIB / "npm" / "README.md"))
        npm_pack(stage, out)


def platform_manifest(release: Release, platform: Platform) -> dict:
    common = release.document(CONTRIB / "npm" / "package.json")
    os, cpu = platform.node.split("-")
    return {
        "name": SCOPE + platform.node,
        "version": release.version,
        "description": f"The program of goblin-actor for {platform.node}",
        "license": common["license"],
        "homepage": common["homepage"],
        "repository": common["repository"],
        "os": [os],
        "cpu": [cpu],
        "programBytes": release.binaries[platform].stat().st_size,
        "preferUnplugged": True,  # Yarn must unpack the package, because a program cannot run inside an archive
        "files": ["bin"],
    }


def npm_pack(stage: str, out: Path) -> None:
    shutil.copyfile(ROOT / "LICENSE", Path(stage) / "LICENSE")
    subprocess.run(["npm", "pack", "--silent", "--pack-destination", out], cwd=stage, check=True)
