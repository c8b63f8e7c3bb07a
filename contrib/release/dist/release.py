"""The platforms, and what all kinds of packages have in common."""

import json
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CONTRIB = ROOT / "contrib"


@dataclass(frozen=True)
class Platform:
    """One operating system and processor, with its names in Go, Node.js and wheels."""

    goos: str
    goarch: str
    node: str
    wheel: tuple[str, ...]

    @property
    def program(self) -> str:
        return "goblin-actor.exe" if self.goos == "windows" else "goblin-actor"


# The Linux program is static, so it runs with glibc and with musl. The programs of Go 1.26 need macOS 12.
PLATFORMS = [
    Platform("linux", "amd64", "linux-x64", ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64")),
    Platform("linux", "arm64", "linux-arm64", ("manylinux2014_aarch64", "manylinux_2_17_aarch64", "musllinux_1_1_aarch64")),
    Platform("darwin", "amd64", "darwin-x64", ("macosx_12_0_x86_64",)),
    Platform("darwin", "arm64", "darwin-arm64", ("macosx_12_0_arm64",)),
    Platform("windows", "amd64", "win32-x64", ("win_amd64",)),
    Platform("windows", "arm64", "win32-arm64", ("win_arm64",)),
]


@dataclass
class Release:
    """The release to pack. The version is a semantic version without the prefix v."""

    version: str
    owner: str
    binaries: dict[Platform, Path]
    dist: Path

    def text(self, path: Path) -> str:
        """Returns a file with the owner filled in."""
        return path.read_text().replace("OWNER", self.owner)

    def document(self, path: Path) -> dict:
        """Returns a JSON file with the owner and the version filled in."""
        return {**json.loads(self.text(path)), "version": self.version}

    def empty(self, name: str) -> Path:
        """Creates or empties the directory of that name in dist and returns it."""
        directory = self.dist / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        return directory


def write_json(path: Path, document: dict) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def copy_program(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)


def add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int) -> None:
    """Adds a file with a fixed time, so that equal files give equal archives."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix: external_attr contains the mode
    entry.external_attr = (0o100000 | mode) << 16
    archive.writestr(entry, data, compresslevel=9)
