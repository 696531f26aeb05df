"""The client: one method for each operation."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from .._errors import CallError, TimedOutError
from .._model import T
from .._policy import LastResponse, Options, parse_record, poll_pause
from .._requests import body, is_long, path, query, setting, verify_timeout
from ..models import (
    BulkEnrichment,
    Company,
    Contact,
    GraphQLResponse,
    Health,
    Person,
    RevealedContact,
    Signal,
    Verification,
    VerificationBatch,
    VerificationProgress,
)
from .batches import AsyncBatches
from .pool import AsyncPool
from .streams import AsyncEventStream, AsyncPager, AsyncStream, lines
from .transport import AsyncTransport, Request
from .webhooks import AsyncWebhooks

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..params import BulkItem, ContactFilters, EnrichParams, RevealParams, SignalFilters, VerifyOptions


class AsyncClient:
    """The data service. Use it in a ``with`` statement, or close it, so that its connections end.

    Every call may raise a :class:`millrace.CallError`.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 30.0,
        max_attempts: int = 4,
        retry_delay: float = 0.5,
        wait_for_rate_limit: bool = False,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """
        :param api_key: else the environment variable ``MILLRACE_API_KEY``
        :param base_url: the address before ``/v1``; else the environment variable ``MILLRACE_BASE_URL``
        :param timeout: seconds until a connection is open, until the answer begins, and between two pieces of it
        :param max_attempts: of one call, the first included
        :param retry_delay: seconds that the first pause between two attempts takes at most
        :param wait_for_rate_limit: wait for the quota as long as the service says, up to 15 minutes a call
        :param http_client: an httpx client with a proxy or certificates of your own; you close it
        """
        options = Options(
            api_key=setting(api_key, "MILLRACE_API_KEY"),
            base_url=setting(base_url, "MILLRACE_BASE_URL"),
            timeout=timeout,
            max_attempts=max_attempts,
            retry_delay=retry_delay,
            wait_for_rate_limit=wait_for_rate_limit,
        )
        self._use(AsyncTransport(options, AsyncPool(http_client)))

    def _use(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.webhooks = AsyncWebhooks(transport)
        self.batches = AsyncBatches(transport)

    def with_options(
        self,
        *,
        timeout: float | None = None,
        max_attempts: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """A client with the same connections, and with a ``last_response`` of its own: for one call, or several.

        ``headers`` are sent beside those of the library, which win. You need not close it.
        """
        changes = {"timeout": timeout, "max_attempts": max_attempts, "headers": headers}
        options = replace(self._transport.options, **body(changes))
        client = object.__new__(type(self))
        client._use(AsyncTransport(options, self._transport.pool))
        return client

    @property
    def last_response(self) -> LastResponse | None:
        """Quota, credits and request id of the last answer; None before the first."""
        return self._transport.last_response

    async def enrich(self, *, idempotency_key: str | None = None, **params: Unpack[EnrichParams]) -> Person | None:
        """A person by ``email``, ``linkedin_url``, ``phone``, ``id``, or ``name`` with ``domain``.

        ``domain`` alone finds the company. Returns None when the service knows nobody.
        """
        request = Request("POST", "/v1/enrich", body=body(params), idempotency_key=idempotency_key)
        return await self._lookup(Person, request)

    async def enrich_bulk(self, requests: Iterable[BulkItem], *, idempotency_key: str | None = None) -> BulkEnrichment:
        """Up to 100 people: ``[{"params": {"email": ...}, "metadata": ...}, ...]``. The results have this order."""
        request = Request("POST", "/v1/enrich/bulk", body={"requests": list(requests)}, idempotency_key=idempotency_key)
        return await self._transport.record(BulkEnrichment, request)

    async def reveal(
        self, *, idempotency_key: str | None = None, **params: Unpack[RevealParams]
    ) -> RevealedContact | None:
        """Address and number of a person. Returns None when the service knows nobody."""
        request = Request("POST", "/v1/contacts/reveal", body=body(params), idempotency_key=idempotency_key)
        return await self._lookup(RevealedContact, request)

    async def verify(
        self, email: str, *, idempotency_key: str | None = None, **options: Unpack[VerifyOptions]
    ) -> Verification:
        """Whether mail to the address will arrive."""
        return await self._transport.record(Verification, self._verify({"email": email}, options, idempotency_key))

    async def verify_batch(
        self, emails: Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[VerifyOptions]
    ) -> VerificationBatch:
        """The same of up to 1,000 addresses, in their order."""
        request = self._verify({"emails": list(emails)}, options, idempotency_key)
        return await self._transport.record(VerificationBatch, request)

    async def start_verification(
        self, emails: Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[VerifyOptions]
    ) -> VerificationProgress:
        """The same in the background: mail servers that say "later" are asked again.

        See :meth:`wait_for_verification`.
        """
        request = self._verify({"emails": list(emails)}, options, idempotency_key)
        request.headers["prefer"] = "respond-async"
        return await self._transport.record(VerificationProgress, request)

    async def get_verification(self, id: str) -> VerificationBatch | VerificationProgress:
        """The results, or how far they are."""
        return (await self._poll(id))[0]

    async def wait_for_verification(self, id: str, *, timeout: float | None = None) -> VerificationBatch:
        """Waits for the results; with ``timeout`` at most that many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            state, pause = await self._poll(id)
            if isinstance(state, VerificationBatch):
                return state
            if deadline is not None and time.monotonic() + pause > deadline:
                raise TimedOutError(
                    f"verification {id} is not finished in time (timeout)", code="timeout", retryable=True
                )
            await self._transport.pause(pause)

    def search_contacts(self, **filters: Unpack[ContactFilters]) -> AsyncPager[Contact]:
        """The contacts that match all filters. The pages are requested while you iterate."""

        def page(cursor: str | None) -> Request:
            params = {**filters, "cursor": cursor}
            pairs = query(params)
            if is_long(pairs):
                return Request("POST", "/v1/contacts/search", body=body(params))
            return Request("GET", "/v1/contacts/search", query=pairs)

        return AsyncPager(self._transport, page, Contact, filters.get("cursor"))

    async def company(self, domain: str) -> Company | None:
        """The company of a domain. Returns None when the service knows none."""
        return await self._lookup(Company, Request("GET", path("/v1/companies/", domain)))

    def signals(self, **filters: Unpack[SignalFilters]) -> AsyncPager[Signal]:
        """Signals, the newest first. The pages are requested while you iterate."""

        def page(cursor: str | None) -> Request:
            return Request("GET", "/v1/signals", query=query({**filters, "cursor": cursor}))

        return AsyncPager(self._transport, page, Signal, filters.get("cursor"))

    def export_signals(self, **filters: Unpack[SignalFilters]) -> AsyncStream[Signal]:
        """Every signal that matches, in the order in which they became known."""
        return AsyncStream(lines(self._transport, Request("GET", "/v1/signals", query=query(filters)), Signal))

    def stream_signals(
        self, *, last_event_id: str | None = None, **filters: Unpack[SignalFilters]
    ) -> AsyncEventStream[Signal]:
        """Signals as they become known, without an end; with ``since``, first the known ones."""
        request = Request("GET", "/v1/signals", query=query(filters))
        return AsyncEventStream(self._transport, request, Signal, last_event_id)

    async def graphql(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> GraphQLResponse:
        """``data`` and ``errors`` as they came: a field that fails raises nothing."""
        sent = body({"query": query, "variables": variables, "operationName": operation_name})
        request = Request("POST", "/v1/graphql", body=sent, idempotency_key=idempotency_key)
        return await self._transport.record(GraphQLResponse, request)

    async def health(self) -> Health:
        """Whether the service lives."""
        return await self._transport.record(Health, Request("GET", "/healthz"))

    async def ready(self) -> Health:
        """Whether the service can work, and why not."""
        return await self._transport.record(Health, Request("GET", "/readyz", also=503))

    async def openapi(self) -> dict[str, Any]:
        """The description of the service."""
        document: dict[str, Any] = await self._transport.json(Request("GET", "/openapi.json"))
        return document

    async def close(self) -> None:
        """Ends the connections. Later calls raise an error with the code ``aborted``."""
        await self._transport.pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._transport.options!r})"

    async def _lookup(self, model: type[T], request: Request) -> T | None:
        try:
            return await self._transport.record(model, request)
        except CallError as error:
            if error.code == "no_match":
                return None
            raise

    def _verify(self, what: dict[str, Any], options: Mapping[str, Any], idempotency_key: str | None) -> Request:
        timeout = verify_timeout(options, self._transport.options.timeout)
        sent = {**what, **body(options)}
        return Request("POST", "/v1/emails/verify", body=sent, idempotency_key=idempotency_key, timeout=timeout)

    async def _poll(self, id: str) -> tuple[VerificationBatch | VerificationProgress, float]:
        request = Request("GET", path("/v1/emails/verify/", id))

        def read(response: httpx.Response, found: bytes) -> tuple[VerificationBatch | VerificationProgress, float]:
            status, headers = response.status_code, response.headers
            if status == 200:
                return parse_record(VerificationBatch, request.call, status, headers, found), 0.0
            return parse_record(VerificationProgress, request.call, status, headers, found), poll_pause(headers)

        return await self._transport.answer(request, read)
