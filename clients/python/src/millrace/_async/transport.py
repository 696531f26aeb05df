"""Sends requests: attempts, pauses, time limits, and the reading of answers."""

from __future__ import annotations

import json
import os
import platform
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import httpx

# sync only: from .._deadline import fail_after
from .._errors import CallError, ConnectionFailedError, TimedOutError
from .._model import T
from .._policy import (
    MAX_BYTES,
    LastResponse,
    Options,
    Retries,
    bad_body,
    last_response,
    parse_json,
    parse_record,
    redact,
    to_error,
)
from .._version import __version__
from .pool import AsyncPool

A = TypeVar("A")
USER_AGENT = f"millrace-python/{__version__} (Python {platform.python_version()}; httpx {httpx.__version__})"


@dataclass
class Request:
    """One call. ``content`` is sent as it is, ``body`` as JSON."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    body: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    timeout: float | None = None
    also: int = 0
    """A status of 300 and above that is an answer too."""

    @property
    def call(self) -> str:
        return f"{self.method} {self.path}"


class AsyncTransport:
    """Sends the requests of a client through connections that it may share."""

    def __init__(self, options: Options, pool: AsyncPool) -> None:
        self.options = options
        self.pool = pool
        self.last_response: LastResponse | None = None

    async def record(self, model: type[T], request: Request) -> T:
        """The record of a 2xx answer. Raises CallError, ``bad_body`` for an answer of other types."""
        return await self.answer(
            request, lambda found, body: parse_record(model, request.call, found.status_code, found.headers, body)
        )

    async def json(self, request: Request) -> Any:
        """The JSON of a 2xx answer. Raises CallError."""
        return await self.answer(
            request, lambda found, body: parse_json(request.call, found.status_code, found.headers, body)
        )

    async def send(self, request: Request) -> None:
        """A call without an answer to read."""
        await self.answer(request, lambda found, body: None)

    async def answer(self, request: Request, read: Callable[[httpx.Response, bytes], A]) -> A:
        """What ``read`` makes of the answer and its body, after as many attempts as it takes."""
        retries = Retries(self.options)
        headers = self._headers(request)
        while True:
            try:
                return await self._attempt(request, headers, read)
            except CallError as error:
                if error.code == "not_found" and request.method == "DELETE" and retries.sent > 0:
                    return read(httpx.Response(204), b"")
                await self.pause(retries.pause_after(error))

    async def pause(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    @asynccontextmanager
    async def stream(self, request: Request, idle: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """One attempt at an answer that is read piece by piece. ``idle``: seconds between two pieces."""
        http, _ = self.pool.get()
        process = os.getpid()

        async def pieces(response: httpx.Response) -> AsyncIterator[bytes]:
            async for piece in response.aiter_bytes():
                if os.getpid() != process:
                    raise ConnectionFailedError(
                        f"{request.call}: the process was forked (network)", code="network", retryable=True
                    )
                yield piece

        async with self._open(http, request, self._headers(request), idle) as response:
            if response.status_code >= 300:
                raise self._refused(request, response, await self._read(request, response, time.monotonic()))
            yield pieces(response)

    async def _attempt(
        self, request: Request, headers: dict[str, str], read: Callable[[httpx.Response, bytes], A]
    ) -> A:
        http, places = self.pool.get()
        async with places:
            begun = time.monotonic()
            async with self._open(http, request, headers) as response:
                body = await self._read(request, response, begun)
                status = response.status_code
                if status >= 300 and status != request.also:
                    raise self._refused(request, response, body)
                return read(response, body)

    @asynccontextmanager
    async def _open(
        self, http: httpx.AsyncClient, request: Request, headers: dict[str, str], idle: float | None = None
    ) -> AsyncIterator[httpx.Response]:
        limit = request.timeout or self.options.timeout
        response: httpx.Response | None = None
        try:
            prepared = self._prepare(http, request, headers)
            # Only an httpx client of the caller's own has a limit of connections to wait for.
            prepared.extensions = {"timeout": httpx.Timeout(limit, read=idle or limit, pool=2 * limit).as_dict()}
            with anyio.fail_after(2 * limit):
                response = await http.send(prepared, stream=True, follow_redirects=False)
            self.last_response = last_response(response.status_code, response.headers, self.options.api_key)
            yield response
        except (httpx.TimeoutException, TimeoutError) as error:
            raise TimedOutError(
                f"{request.call}: no answer in time (timeout)", code="timeout", retryable=True
            ) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            words = redact(str(error) or type(error).__name__, self.options.api_key)
            if response is not None and response.status_code < 300:
                raise bad_body(
                    request.call, f"the answer broke off: {words}", response.status_code, response.headers
                ) from error
            raise ConnectionFailedError(f"{request.call}: {words} (network)", code="network", retryable=True) from error
        finally:
            if response is not None:
                await response.aclose()

    async def _read(self, request: Request, response: httpx.Response, begun: float) -> bytes:
        pieces, size = [], 0
        limit = request.timeout or self.options.timeout
        with anyio.fail_after(max(0.0, begun + 2 * limit - time.monotonic())):
            async for piece in response.aiter_bytes():
                size += len(piece)
                if size > MAX_BYTES:
                    raise bad_body(
                        request.call,
                        f"the answer is larger than {MAX_BYTES} bytes",
                        response.status_code,
                        response.headers,
                    )
                pieces.append(piece)
        return b"".join(pieces)

    def _refused(self, request: Request, response: httpx.Response, body: bytes) -> CallError:
        return to_error(request.call, response.status_code, response.headers, body, self.options.api_key)

    def _headers(self, request: Request) -> dict[str, str]:
        """They are the same in each attempt. Those of the library win over those of the caller."""
        own = {
            "authorization": f"Bearer {self.options.api_key}",
            "accept": "application/json",
            "user-agent": USER_AGENT,
            **request.headers,
        }
        if request.body is not None:
            own["content-type"] = "application/json"
        if request.method == "POST":
            own["idempotency-key"] = request.idempotency_key or str(uuid.uuid4())
        return {**{name.lower(): value for name, value in self.options.headers.items()}, **own}

    def _prepare(self, http: httpx.AsyncClient, request: Request, headers: dict[str, str]) -> httpx.Request:
        content = request.content
        if request.body is not None:
            content = json.dumps(request.body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        url = self.options.base_url.rstrip("/") + request.path
        return http.build_request(
            request.method, url, params=list(request.query) or None, headers=headers, content=content
        )
