"""The head of a GGUF file: is it one, and how many tokens was the model trained to read.

Read here, before llama.cpp gets the file, so that a wrong file is a sentence and a window is known before anything is
loaded. Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from contextrot.errors import ConfigError

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
#: struct letters of the scalar value types, by their number in the file
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
#: No name, key or list in a sound head is longer; a larger number means garbage.
_LONGEST = 1 << 28


@dataclass(frozen=True, slots=True)
class GgufHead:
    """What contextrot needs of a model file. `context_length` is in tokens, as trained."""

    architecture: str
    context_length: int


def read_head(path: Path) -> GgufHead:
    """The head of a model file. Raises `ConfigError` when it is missing, not GGUF, or broken before its tensors."""
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except FileNotFoundError as error:
        raise ConfigError(f"there is no model file {path}") from error
    except OSError as error:
        raise ConfigError(f"the model file {path} cannot be read: {error.strerror or error}") from error
    except (struct.error, ValueError, KeyError, EOFError, RecursionError) as error:
        raise ConfigError(f"the model file {path} is cut off or corrupt; fetch it again") from error


def _read(file: BinaryIO, path: Path) -> GgufHead:
    if file.read(4) != _MAGIC:
        raise ConfigError(f"{path} is not a GGUF file; local models are GGUF files for llama.cpp")
    (version,) = _unpack(file, "I")
    if version not in (2, 3):
        raise ConfigError(f"{path} is GGUF version {version}; versions 2 and 3 can be read")
    _tensors, entries = _unpack(file, "QQ")
    architecture, length = "", 0
    for _ in range(entries):
        key = _string(file)
        value = _value(file, _unpack(file, "I")[0])
        if key == "general.architecture":
            architecture = str(value)
        elif key.endswith(".context_length") and isinstance(value, int):
            length = value
        if architecture and length:
            return GgufHead(architecture, length)
    raise ConfigError(f"{path} holds no language model: it does not state a context length")


def _unpack(file: BinaryIO, letters: str) -> tuple[int, ...]:
    size = struct.calcsize("<" + letters)
    return struct.unpack("<" + letters, file.read(size))


def _string(file: BinaryIO) -> str:
    (size,) = _unpack(file, "Q")
    data = file.read(size) if size < _LONGEST else b""
    if len(data) != size:
        raise EOFError
    return data.decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int) -> object:
    """One value; lists (the vocabulary) are stepped over and come back as None."""
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _unpack(file, _SCALARS[kind])[0]
    (inner,), (count,) = _unpack(file, "I"), _unpack(file, "Q")
    if count > _LONGEST:
        raise EOFError
    if inner in _SCALARS:
        file.seek(count * struct.calcsize("<" + _SCALARS[inner]), 1)
    else:
        for _ in range(count):
            _value(file, inner)
    return None
