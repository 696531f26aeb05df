"""The connections of a client."""

from __future__ import annotations

import functools
import os
import ssl

import anyio
import httpx

# sync only: from .._deadline import bound
from .._errors import CallError, MillraceError

_CALLS = 100
# Streams have connections beside those of calls, so that a call within each of a hundred streams still gets one.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=_CALLS, keepalive_expiry=4.0)


@functools.cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than a call."""
    return httpx.create_ssl_context()


class AsyncPool:
    """Connections that several clients may share. A process that was forked opens its own."""

    def __init__(self, given: httpx.AsyncClient | None) -> None:
        self._given = given
        self._closed = False
        # Those of parents are kept: to end one here would end it there too.
        self._inherited: list[httpx.AsyncClient] = []
        self._open()

    def _open(self) -> None:
        self._process = os.getpid()
        self._http = self._given or httpx.AsyncClient(limits=_LIMITS, verify=_tls())
        # sync only: bound(self._http)
        # Calls wait here, because httpx takes four times as long when hundreds of them wait for a connection.
        self._places = anyio.Semaphore(_CALLS)

    def get(self) -> tuple[httpx.AsyncClient, anyio.Semaphore]:
        """The connections of this process, and the places for its calls."""
        if self._closed:
            raise CallError("the client is closed (aborted)", code="aborted")
        if self._process != os.getpid():
            if self._given is not None:
                raise MillraceError("http_client belongs to the parent process: create a client after the fork")
            self._inherited.append(self._http)
            self._open()
        return self._http, self._places

    async def close(self) -> None:
        self._closed = True
        if self._given is None and self._process == os.getpid():
            await self._http.aclose()
