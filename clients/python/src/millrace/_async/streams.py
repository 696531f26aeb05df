"""Iterators over pages, lines and events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Generic

import httpx

from .._errors import CallError
from .._lines import EventReader, LineReader
from .._model import Page, T
from .._policy import Retries, bad_body, parse_page, parse_record
from .transport import AsyncTransport, Request

if TYPE_CHECKING:
    from typing_extensions import Self

_HEARTBEATS_MISSED = 45.0


class AsyncPager(Generic[T]):
    """A list that is requested page by page while it is iterated. Each iteration starts at the first page."""

    def __init__(
        self,
        transport: AsyncTransport,
        request: Callable[[str | None], Request],
        model: type[T],
        cursor: str | None = None,
    ) -> None:
        self._transport = transport
        self._request = request
        self._model = model
        self._cursor = cursor

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.data:
                yield item

    async def pages(self) -> AsyncIterator[Page[T]]:
        """The same page by page."""
        cursor = self._cursor
        seen = {cursor}
        while True:
            request = self._request(cursor)
            page = await self._transport.answer(request, self._read(request))
            if page.next_cursor is not None and page.next_cursor in seen:
                raise bad_body(request.call, "a page names an earlier one as the next", 200, {})
            yield page
            if page.next_cursor is None:
                return
            cursor = page.next_cursor
            seen.add(cursor)

    def _read(self, request: Request) -> Callable[[httpx.Response, bytes], Page[T]]:
        return lambda found, body: parse_page(self._model, request.call, found.status_code, found.headers, body)


class AsyncStream(Generic[T]):
    """Records that arrive one at a time. Close it, or use it in a ``with`` statement, to leave before its end."""

    def __init__(self, records: AsyncGenerator[T, None]) -> None:
        self._records = records

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        return await self._records.__anext__()

    async def close(self) -> None:
        await self._records.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()


class AsyncEventStream(AsyncStream[T]):
    """Records as they become known, without an end. It connects again by itself, behind the last event."""

    def __init__(self, transport: AsyncTransport, request: Request, model: type[T], last_event_id: str | None) -> None:
        self.last_event_id = last_event_id
        """Of the last event that was returned. Give it to a later stream to go on there."""
        super().__init__(self._events(transport, request, model))

    async def _events(self, transport: AsyncTransport, request: Request, model: type[T]) -> AsyncGenerator[T, None]:
        retries = Retries(transport.options)
        request.headers["accept"] = "text/event-stream"
        while True:
            if self.last_event_id is not None:
                request.headers["last-event-id"] = self.last_event_id
            try:
                async with transport.stream(request, idle=max(_HEARTBEATS_MISSED, transport.options.timeout)) as pieces:
                    events = EventReader()
                    async for piece in pieces:
                        for event_id, data in events.feed(piece):
                            record = parse_record(model, request.call, 200, {}, data)
                            self.last_event_id = event_id or self.last_event_id
                            retries.restart()
                            yield record
                raise bad_body(request.call, "the stream ended", 200, {})
            except CallError as error:
                await transport.pause(retries.pause_after(error))


async def lines(
    transport: AsyncTransport, request: Request, model: type[T], behind: Callable[[T], int] | None = None
) -> AsyncGenerator[T, None]:
    """The lines of an NDJSON answer. ``behind`` numbers a line: with it a broken stream goes on behind it."""
    retries = Retries(transport.options)
    request.headers["accept"] = "application/x-ndjson"
    last, started = 0, False
    while True:
        try:
            async with transport.stream(request) as pieces:
                async for line in _lines_of(pieces, LineReader()):
                    record = parse_record(model, request.call, 200, {}, line)
                    number = 0 if behind is None else behind(record)
                    if behind is not None and number <= last:
                        continue
                    started, last = True, number
                    retries.restart()
                    yield record
                return
        except CallError as error:
            if started and behind is None:
                raise
            await transport.pause(retries.pause_after(error))


async def _lines_of(pieces: AsyncIterator[bytes], reader: LineReader) -> AsyncIterator[bytes]:
    async for piece in pieces:
        for line in reader.feed(piece):
            yield line
    for line in reader.end():
        yield line
