"""Sends requests: attempts, pauses, time limits, and the reading of answers."""

from __future__ import annotations

import functools
import json
import platform
import ssl
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx

from .._errors import CallError, ConnectionFailedError, TimedOutError
from .._policy import MAX_BYTES, LastResponse, Options, Retries, bad_body, last_response, parse_json, redact, to_error
from .._version import __version__

USER_AGENT = f"millrace-python/{__version__} (Python {platform.python_version()}; httpx {httpx.__version__})"
_CONNECTIONS = 100
_LIMITS = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=20, keepalive_expiry=4.0)


@functools.cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than a call."""
    return httpx.create_ssl_context()


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

    @property
    def call(self) -> str:
        return f"{self.method} {self.path}"


class AsyncTransport:
    """The connections of a client, and how it uses them."""

    def __init__(self, options: Options, http_client: httpx.AsyncClient | None) -> None:
        self.options = options
        self.last_response: LastResponse | None = None
        self._http = http_client or httpx.AsyncClient(limits=_LIMITS, verify=_tls())
        self._owned = http_client is None
        # httpx takes four times as long when hundreds of calls wait for a connection.
        self._places = anyio.Semaphore(_CONNECTIONS)

    async def close(self) -> None:
        if self._owned:
            await self._http.aclose()

    async def json(self, request: Request) -> Any:
        """The JSON of a 2xx answer; None for 204. Raises CallError."""
        return (await self.answer(request))[1]

    async def answer(self, request: Request, also: Sequence[int] = ()) -> tuple[httpx.Response, Any]:
        """The answer with its JSON. ``also``: statuses of 300 and above that are answers too."""
        retries = Retries(self.options)
        prepared = self._prepare(request)
        while True:
            try:
                return await self._attempt(request, prepared, also)
            except CallError as error:
                if error.code == "not_found" and request.method == "DELETE" and retries.sent > 0:
                    return httpx.Response(204), None
                await self.pause(retries.pause_after(error))

    async def pause(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    @asynccontextmanager
    async def stream(self, request: Request, idle: float | None = None) -> AsyncIterator[httpx.Response]:
        """One attempt at an answer that is read piece by piece. ``idle``: seconds between two pieces."""
        async with self._open(request, self._prepare(request), idle) as response:
            if response.status_code >= 300:
                raise self._refused(request, response, await self._read(request, response))
            yield response

    async def _attempt(
        self, request: Request, prepared: httpx.Request, also: Sequence[int]
    ) -> tuple[httpx.Response, Any]:
        async with self._open(request, prepared) as response:
            body = await self._read(request, response)
            status = response.status_code
            if status >= 300 and status not in also:
                raise self._refused(request, response, body)
            return response, None if status == 204 else parse_json(request.call, status, response.headers, body)

    @asynccontextmanager
    async def _open(
        self, request: Request, prepared: httpx.Request, idle: float | None = None
    ) -> AsyncIterator[httpx.Response]:
        limit = request.timeout or self.options.timeout
        prepared.extensions = {"timeout": httpx.Timeout(limit, read=idle or limit, pool=None).as_dict()}
        response: httpx.Response | None = None
        await self._places.acquire()
        try:
            response = await self._http.send(prepared, stream=True, follow_redirects=False)
            self.last_response = last_response(response.status_code, response.headers, self.options.api_key)
            yield response
        except httpx.TimeoutException as error:
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
            self._places.release()
            if response is not None:
                await response.aclose()

    async def _read(self, request: Request, response: httpx.Response) -> bytes:
        deadline = time.monotonic() + 2 * (request.timeout or self.options.timeout)
        pieces, size = [], 0
        async for piece in response.aiter_bytes():
            size += len(piece)
            if size > MAX_BYTES:
                raise bad_body(
                    request.call, f"the answer is larger than {MAX_BYTES} bytes", response.status_code, response.headers
                )
            if time.monotonic() > deadline:
                raise TimedOutError(
                    f"{request.call}: the answer took too long (timeout)", code="timeout", retryable=True
                )
            pieces.append(piece)
        return b"".join(pieces)

    def _refused(self, request: Request, response: httpx.Response, body: bytes) -> CallError:
        return to_error(request.call, response.status_code, response.headers, body, self.options.api_key)

    def _prepare(self, request: Request) -> httpx.Request:
        headers = {
            "authorization": f"Bearer {self.options.api_key}",
            "accept": "application/json",
            "user-agent": USER_AGENT,
            **request.headers,
        }
        content = request.content
        if request.body is not None:
            content = json.dumps(request.body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
            headers["content-type"] = "application/json"
        if request.method == "POST":
            headers["idempotency-key"] = request.idempotency_key or str(uuid.uuid4())
        url = self.options.base_url.rstrip("/") + request.path
        return self._http.build_request(
            request.method, url, params=list(request.query) or None, headers=headers, content=content
        )
