"""Cuts a file into the lines of a batch. Knows no sockets."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import islice

# The most bytes of a record of several lines, as the service reads it, and of a part.
MAX_RECORD = 64 * 1024
MAX_LINE = 64 * 1024 * 1024
# Lines that are read ahead at once.
_READ = 1000


def file_lines(blocks: Iterator[bytes], csv: bool) -> Iterator[bytes]:
    """The lines of a file with their ends; of CSV its records, some of which have several lines."""
    return _records(_physical_lines(blocks)) if csv else _physical_lines(blocks)


def _physical_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for block in blocks:
        *ended, begun = block.split(b"\n")
        for line in ended:
            yield bytes(rest + line + b"\n") if rest else line + b"\n"
            rest.clear()
        rest += begun
        if len(rest) > MAX_LINE:
            raise ValueError(f"a line is longer than {MAX_LINE} bytes, which no part can have")
    if rest:
        yield bytes(rest + b"\n")


class _Ends(Enum):
    RECORD = "the record ends with its line"
    OPEN = "a quote is open at the end of its line"
    STRAY = "text follows a closing quote"


def _records(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Records of CSV as the service reads them (RFC 4180).

    One that breaks the rules of quotes ends with its first line. What a line does within quotes depends on that line
    alone, so it is looked at once: a stray quote costs no time.
    """
    read: list[bytes] = []
    # The next record begins at `head`. The `inside` lines behind it, of `size` bytes, leave an open quote open; `after`
    # is what the next one does.
    head, inside, size = 0, 0, 0
    after: _Ends | None = None
    mark = b"\xef\xbb\xbf"
    while True:
        if head == len(read):
            read, head = list(islice(lines, _READ)), 0
            if not read:
                return
        line = read[head]
        ends = _ends(_content(line).removeprefix(mark), quoted=False)
        mark = b""
        count = 1
        while ends is _Ends.OPEN and len(line) + size <= MAX_RECORD:
            place = head + 1 + inside
            if place == len(read) and (more := list(islice(lines, _READ))):
                read, head, place = read[head:] + more, 0, 1 + inside
            if after is None:
                after = _ends(_content(read[place]), quoted=True) if place < len(read) else _Ends.STRAY
            if after is _Ends.OPEN:
                inside, size, after = inside + 1, size + len(read[place]), None
                continue
            if after is _Ends.RECORD and len(line) + size + len(_content(read[place])) <= MAX_RECORD:
                count = inside + 2
            break
        yield line if count == 1 else b"".join(read[head : head + count])
        head += count
        if count == 1 and inside > 0:
            inside, size = inside - 1, size - len(read[head])
        else:
            inside, size, after = 0, 0, None


def _content(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _ends(text: bytes, quoted: bool) -> _Ends:
    """How a line without its end leaves its quotes. A quote opens only at the start of a field."""
    if quoted:
        at = 0
    elif text.startswith(b'"'):
        at = 1
    elif (at := text.find(b',"') + 2) == 1:
        return _Ends.RECORD
    while (at := text.find(b'"', at)) >= 0:
        following = text[at + 1 : at + 2]
        if following == b'"':
            at += 2
        elif following == b"":
            return _Ends.RECORD
        elif following != b",":
            return _Ends.STRAY
        elif text[at + 2 : at + 3] == b'"':
            at += 3
        elif (at := text.find(b',"', at + 2) + 2) == 1:
            return _Ends.RECORD
    return _Ends.OPEN
