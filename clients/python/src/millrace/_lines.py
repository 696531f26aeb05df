"""Cuts bytes into lines, events and the parts of a batch. Knows no sockets. ``_records`` cuts files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ._errors import BadBodyError
from ._policy import MAX_BYTES

MAX_PART = 4 * 1024 * 1024


class LineReader:
    """Lines out of pieces of any length, without their ends, and without empty ones."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        found = piece.rfind(b"\n")
        if found < 0:
            self._keep(piece)
            return
        whole = bytes(self._rest) + piece[:found]
        self._rest.clear()
        self._keep(piece[found + 1 :])
        yield from (line for line in whole.split(b"\n") if line.strip())

    def end(self) -> Iterator[bytes]:
        if self._rest.strip():
            yield bytes(self._rest)

    def _keep(self, piece: bytes) -> None:
        if len(self._rest) + len(piece) > MAX_BYTES:
            raise BadBodyError(f"a line is longer than {MAX_BYTES} bytes (bad_body)", code="bad_body", status=200)
        self._rest += piece


class EventReader:
    """Events (id, data) out of an event stream, as the HTML standard reads it (9.2.6)."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._id: str | None = None
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[tuple[str | None, bytes]]:
        if len(self._text) + len(piece) > MAX_BYTES:
            raise BadBodyError(f"an event is longer than {MAX_BYTES} bytes (bad_body)", code="bad_body", status=200)
        self._text += piece
        while (end := self._text.find(b"\n")) >= 0:
            line = bytes(self._text[:end]).removesuffix(b"\r")
            del self._text[: end + 1]
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                self._data.append(value)
            elif name == b"id":
                self._id = value.decode()
            elif line == b"" and self._data:
                yield self._id, b"\n".join(self._data)
                self._data = []


class PartCutter:
    """Gathers the lines of a batch into parts."""

    def __init__(self) -> None:
        self._part = bytearray()

    def add(self, line: bytes) -> bytes | None:
        """Takes a whole line with its end. Returns the part before it, when that is full."""
        full = self._part and len(self._part) + len(line) > MAX_PART
        part = self.rest() if full else None
        self._part += line
        return part

    def rest(self) -> bytes:
        part = bytes(self._part)
        self._part.clear()
        return part


def to_line(line: Mapping[str, Any] | str | bytes) -> bytes:
    """One line of a part: an object as JSON, a text as it is."""
    if isinstance(line, Mapping):
        line = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = line.encode() if isinstance(line, str) else line
    return data if data.endswith(b"\n") else data + b"\n"
