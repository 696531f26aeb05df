"""Batches: files of up to ten million lines."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any

from .._errors import CallError, TimedOutError
from .._lines import PartCutter, to_line
from .._records import file_lines
from .._requests import blocks, body, is_csv, path, query
from ..models import Batch, BatchLine, BatchLineStatus, BatchPart
from .streams import AsyncPager, AsyncStream, lines
from .transport import AsyncTransport, Request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..params import BatchParams

    Line = Mapping[str, Any] | str | bytes

_SETTLED = frozenset({"completed", "failed", "cancelled", "expired", "paused"})
_TYPES = {"ndjson": "application/x-ndjson", "csv": "text/csv"}


class AsyncBatches:
    """``client.batches``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        *,
        lines: Iterable[Line] | AsyncIterable[Line] | None = None,
        file: str | os.PathLike[str] | IO[bytes] | None = None,
        idempotency_key: str | None = None,
        **params: Unpack[BatchParams],
    ) -> Batch:
        """A job of an ``operation`` over ``lines`` or a ``file``: its parts are uploaded, and it is completed.

        ``lines`` are objects, or texts of one line each. Without either, the job stays
        open for :meth:`upload_part`.
        """
        if lines is not None and file is not None:
            raise ValueError("pass lines or file, not both")
        if file is not None and params.get("format") is None and is_csv(file):
            params["format"] = "csv"
        request = Request("POST", "/v1/batches", body=body(params), idempotency_key=idempotency_key)
        batch = await self._transport.record(Batch, request)
        if lines is None and file is None:
            return batch
        try:
            number = 0
            async for part in _parts(lines, file, batch.format == "csv"):
                number += 1
                await self.upload_part(batch.id, number, part, format=batch.format)
            return await self.complete(batch.id)
        except CallError as error:
            error.batch_id = batch.id
            raise

    def list(self, *, limit: int | None = None) -> AsyncPager[Batch]:
        """The jobs of the key, the newest first."""

        def page(cursor: str | None) -> Request:
            return Request("GET", "/v1/batches", query=query({"limit": limit, "cursor": cursor}))

        return AsyncPager(self._transport, page, Batch)

    async def get(self, id: str) -> Batch:
        return await self._transport.record(Batch, Request("GET", path("/v1/batches/", id)))

    async def update(self, id: str, *, max_credits: int) -> Batch:
        """Raises the limit of credits; a job that paused at it goes on."""
        request = Request("PATCH", path("/v1/batches/", id), body={"max_credits": max_credits})
        return await self._transport.record(Batch, request)

    async def upload_part(self, id: str, number: int, content: bytes, *, format: str = "ndjson") -> BatchPart:
        """A part of whole lines, at most 64 MiB. The same number again replaces it."""
        request = Request("PUT", path("/v1/batches/", id, f"/parts/{number}"), content=content)
        request.headers["content-type"] = _TYPES[format]
        return await self._transport.record(BatchPart, request)

    async def complete(self, id: str, *, idempotency_key: str | None = None) -> Batch:
        """All parts are there: the job begins."""
        return await self._post(id, "/complete", idempotency_key)

    async def cancel(self, id: str, *, idempotency_key: str | None = None) -> Batch:
        return await self._post(id, "/cancel", idempotency_key)

    async def delete(self, id: str) -> None:
        """Removes a job that has ended, with its results."""
        await self._transport.send(Request("DELETE", path("/v1/batches/", id)))

    async def wait(self, id: str, *, timeout: float | None = None) -> Batch:
        """Waits until the job has ended or is paused; with ``timeout`` at most that many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = 1.0
        while True:
            batch = await self.get(id)
            if batch.state in _SETTLED:
                return batch
            if deadline is not None and time.monotonic() + pause > deadline:
                raise TimedOutError(
                    f"batch {id} is {batch.state} after {timeout} seconds (timeout)", code="timeout", retryable=True
                )
            await self._transport.pause(pause)
            pause = min(10.0, pause * 1.5)

    def results(self, id: str, *, set: BatchLineStatus | None = None) -> AsyncStream[BatchLine]:
        """The results in the order of the input, all or those of a ``set``. A broken stream goes on by itself."""
        request = Request("GET", path("/v1/batches/", id, "/results"), query=query({"set": set}))
        return AsyncStream(lines(self._transport, request, BatchLine, lambda line: line.line))

    async def _post(self, id: str, what: str, idempotency_key: str | None) -> Batch:
        request = Request("POST", path("/v1/batches/", id, what), idempotency_key=idempotency_key)
        return await self._transport.record(Batch, request)


async def _parts(
    lines: Iterable[Line] | AsyncIterable[Line] | None, file: str | os.PathLike[str] | IO[bytes] | None, csv: bool
) -> AsyncIterator[bytes]:
    cutter = PartCutter()
    source = file_lines(blocks(file), csv) if file is not None else lines
    assert source is not None
    async for line in _each(source):
        part = cutter.add(to_line(line))
        if part is not None:
            yield part
    if rest := cutter.rest():
        yield rest


async def _each(source: Iterable[Line] | AsyncIterable[Line]) -> AsyncIterator[Line]:
    if isinstance(source, AsyncIterable):  # async only
        async for line in source:  # async only
            yield line  # async only
        return  # async only
    for line in source:
        yield line
