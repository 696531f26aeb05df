"""Webhooks: the calls. The signatures of deliveries are in ``millrace.verify_webhook``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._requests import body, path, query
from ..models import Webhook, WebhookDelivery, WebhookList, WebhookTest, WebhookWithSecret
from .streams import AsyncPager
from .transport import AsyncTransport, Request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..params import WebhookParams, WebhookUpdate


class AsyncWebhooks:
    """``client.webhooks``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, *, idempotency_key: str | None = None, **params: Unpack[WebhookParams]) -> WebhookWithSecret:
        """Subscribes ``url`` to ``event`` or ``events``. The secret is shown once, here."""
        request = Request("POST", "/v1/webhooks", body=body(params), idempotency_key=idempotency_key)
        return await self._transport.record(WebhookWithSecret, request)

    async def list(self) -> list[Webhook]:
        """All webhooks of the key."""
        found = await self._transport.record(WebhookList, Request("GET", "/v1/webhooks"))
        return found.data or []

    async def get(self, id: str) -> Webhook:
        return await self._transport.record(Webhook, Request("GET", path("/v1/webhooks/", id)))

    async def update(self, id: str, **changes: Unpack[WebhookUpdate]) -> Webhook:
        """Replaces ``url``, ``events``, ``filter`` or ``enabled``."""
        return await self._transport.record(Webhook, Request("PATCH", path("/v1/webhooks/", id), body=body(changes)))

    async def delete(self, id: str) -> None:
        """Removes the webhook and its deliveries."""
        await self._transport.send(Request("DELETE", path("/v1/webhooks/", id)))

    async def rotate_secret(self, id: str, *, idempotency_key: str | None = None) -> WebhookWithSecret:
        """A new secret. For 24 hours deliveries are signed with the old one too."""
        request = Request("POST", path("/v1/webhooks/", id, "/rotate-secret"), idempotency_key=idempotency_key)
        return await self._transport.record(WebhookWithSecret, request)

    async def test(self, id: str, *, idempotency_key: str | None = None) -> WebhookTest:
        """Sends a test event at once, and says what the receiver answered."""
        request = Request("POST", path("/v1/webhooks/", id, "/test"), idempotency_key=idempotency_key)
        return await self._transport.record(WebhookTest, request)

    def deliveries(self, id: str, *, limit: int | None = None) -> AsyncPager[WebhookDelivery]:
        """Past and pending deliveries, the newest first."""

        def page(cursor: str | None) -> Request:
            pairs = query({"limit": limit, "cursor": cursor})
            return Request("GET", path("/v1/webhooks/", id, "/deliveries"), query=pairs)

        return AsyncPager(self._transport, page, WebhookDelivery)

    async def redeliver(self, id: str, delivery: str, *, idempotency_key: str | None = None) -> WebhookDelivery:
        """Sends a delivery again."""
        where = path("/v1/webhooks/", id, "/deliveries/", delivery, "/redeliver")
        return await self._transport.record(WebhookDelivery, Request("POST", where, idempotency_key=idempotency_key))
