"""The libraries that ship inside the report: which, under what licence, and fetched anew by `make vendor`.

`static/vendor/VENDORED.json` says for every file which package and version it is of, and its sha256. A package that
was bundled into another's file is listed with its licence as well.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from contextrot.errors import StoreError

FOLDER = Path(__file__).parent / "static" / "vendor"
RECORD = FOLDER / "VENDORED.json"


@dataclass(frozen=True, slots=True)
class Vendored:
    """A file of an npm package: `name` `version`, where it lies in the package, its licence, and what it is here.

    sha256: of `file`; licence_file: the licence's text, beside it. `within` names the file it was bundled into, for a
    package that ships no file of its own here (then `file` and `sha256` are empty).
    """

    name: str
    version: str
    licence: str
    licence_file: str
    source: str = ""
    file: str = ""
    sha256: str = ""
    within: str = ""


def listed() -> list[Vendored]:
    """What VENDORED.json lists."""
    return [Vendored(**entry) for entry in json.loads(RECORD.read_text(encoding="utf-8"))]


def differing() -> list[str]:
    """A sentence for every vendored file that is missing or is not the one listed; empty when all is well."""
    found = []
    for entry in listed():
        if not (FOLDER / entry.licence_file).is_file():
            found.append(f"{entry.licence_file}: the licence of {entry.name} is missing; run `make vendor`")
        if entry.file and _sha256(FOLDER / entry.file) != entry.sha256:
            found.append(f"{entry.file}: not the file of {entry.name} {entry.version} listed; run `make vendor`")
    return found


def fetch() -> list[str]:
    """Fetch all listed packages with `npm pack` and write their files and licences; what was written, a line each.

    A listed version whose file has another sha256 than the one listed is refused with `StoreError`: packages do not
    change once they are out. To take a new version, change `version` and empty `sha256` in VENDORED.json.
    """
    entries, lines = [], []
    with tempfile.TemporaryDirectory() as folder:
        for entry in listed():
            package = _unpacked(entry, Path(folder))
            (FOLDER / entry.licence_file).write_bytes(_licence(package).read_bytes())
            digest = entry.sha256
            if entry.file:
                content = (package / entry.source).read_bytes()
                digest = hashlib.sha256(content).hexdigest()
                if entry.sha256 not in ("", digest):
                    raise StoreError(
                        f"{entry.name} {entry.version} holds another {entry.source} than VENDORED.json lists "
                        f"({digest}): compare the two before you trust it"
                    )
                (FOLDER / entry.file).write_bytes(content)
                lines.append(f"{entry.file}  {entry.name} {entry.version}, {len(content):,} bytes")
            entries.append(asdict(entry) | {"sha256": digest})
    RECORD.write_text(_json(entries), encoding="utf-8")
    return lines


def _unpacked(entry: Vendored, folder: Path) -> Path:
    """The package's content, fetched by npm, in a folder of its own."""
    done = subprocess.run(
        ["npm", "pack", "--silent", f"{entry.name}@{entry.version}"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise StoreError(f"npm could not fetch {entry.name} {entry.version}: {done.stderr.strip()[-300:]}")
    target = folder / f"{entry.name.replace('/', '-')}-{entry.version}"
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        archive.extractall(target, filter="data")
    return target / "package"


def _licence(package: Path) -> Path:
    """The file with the licence's text; packages spell its name in several ways."""
    found = sorted(path for path in package.iterdir() if path.name.upper().startswith(("LICENSE", "LICENCE")))
    if not found:
        raise StoreError(f"{package.parent.name} ships no licence: it cannot be vendored")
    return found[0]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _json(entries: Iterable[dict[str, str]]) -> str:
    shown = [{key: value for key, value in entry.items() if value or key == "sha256"} for entry in entries]
    for entry in shown:
        if not entry["sha256"]:
            del entry["sha256"]
    return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    try:
        print("\n".join(fetch()))
    except StoreError as error:
        sys.exit(str(error))
