"""How parameters become paths, queries and bodies. Knows no sockets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any
from urllib.parse import quote

LONGEST_QUERY = 4_000
_BLOCK = 1024 * 1024


def path(*parts: str) -> str:
    """A path of literal parts (with a slash) and of values, which are encoded."""
    return "".join(part if part.startswith("/") else quote(part, safe="") for part in parts)


def query(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A list becomes a parameter for each of its items; None is left out."""
    pairs = []
    for name, value in params.items():
        items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        pairs += [(name, _text(item)) for item in items if item is not None]
    return pairs


def is_long(pairs: Iterable[tuple[str, str]]) -> bool:
    return sum(len(quote(name)) + len(quote(value)) + 2 for name, value in pairs) > LONGEST_QUERY


def body(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without those that are None."""
    return {name: value for name, value in params.items() if value is not None}


def verify_timeout(params: Mapping[str, Any], timeout: float) -> float | None:
    """The time limit of a verification whose ``timeout_ms`` needs a longer one; None for that of the client."""
    wanted = params.get("timeout_ms")
    return None if wanted is None else max(wanted / 1000 + 5, timeout)


def blocks(file: str | os.PathLike[str] | IO[bytes]) -> Iterator[bytes]:
    """The bytes of a path or of an open binary file, which stays open."""
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            yield from iter(lambda: opened.read(_BLOCK), b"")
    else:
        yield from iter(lambda: file.read(_BLOCK), b"")


def is_csv(file: str | os.PathLike[str] | IO[bytes]) -> bool:
    name = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", "")
    return str(os.fspath(name) if isinstance(name, os.PathLike) else name).lower().endswith(".csv")


def setting(given: str | None, variable: str) -> str:
    """What was given, else the environment variable, else nothing."""
    return given if given is not None else os.environ.get(variable, "")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
