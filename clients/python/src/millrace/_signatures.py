"""Signatures of webhook deliveries, by Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._errors import WebhookSignatureError
from ._model import Model
from .models import EVENT_MODELS, EventName, WebhookTestEvent


@dataclass(frozen=True)
class WebhookEvent:
    """A delivery whose signature is right."""

    id: str
    """The same at each attempt to deliver it: store the ids that you have seen."""
    type: EventName | str
    timestamp: str
    data: Any
    """The record of the type, such as a :class:`Signal` for ``funding.round``."""


def verify_webhook(
    body: bytes | str, headers: Mapping[str, str], secrets: str | Sequence[str], *, tolerance: float = 300
) -> WebhookEvent:
    """The event of a delivery. Raises WebhookSignatureError unless the service signed it within ``tolerance`` seconds.

    Raises ValueError without a usable secret or without a body: then no delivery could be checked.

    :param body: the exact bytes that came, not parsed
    :param secrets: ``whsec_...``, or several while a secret is replaced
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets or [""])]
    given = {name.lower(): value for name, value in headers.items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    missing = [name for name in names if not given.get(name)]
    if missing:
        raise WebhookSignatureError(f"the delivery has no header {missing[0]}")
    id, timestamp, signatures = (given[name] for name in names)
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookSignatureError("webhook-timestamp is not a whole number of seconds")
    if abs(time.time() - int(timestamp)) > tolerance:
        raise WebhookSignatureError(f"webhook-timestamp is more than {tolerance:g} seconds away from now")
    if not isinstance(body, (bytes, bytearray, memoryview, str)) or len(body) == 0:
        raise ValueError("body: pass the bytes as they came; a framework that has read them leaves none")
    data = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{id}.{timestamp}.".encode() + data
    wanted = [_sign(key, signed) for key in keys]
    if not any(hmac.compare_digest(one.encode(), other) for one in signatures.split(" ") for other in wanted):
        raise WebhookSignatureError("no signature of the delivery fits its body and the secret")
    try:
        event = json.loads(data)
        return WebhookEvent(id=id, type=event["type"], timestamp=event["timestamp"], data=_record(event))
    except (ValueError, KeyError, TypeError):
        raise WebhookSignatureError("the body of the delivery is not an event") from None


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode((secret or "").removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("secrets: the secret is not whsec_ and Base64") from None
    if not key:
        raise ValueError("secrets: the secret is empty")
    return key


def _sign(key: bytes, signed: bytes) -> bytes:
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


def _record(event: Mapping[str, Any]) -> Any:
    data = event["data"]
    if isinstance(data, dict) and data.get("test") is True:
        return WebhookTestEvent(data)
    model: type[Model] | None = EVENT_MODELS.get(event["type"])
    return data if model is None or not isinstance(data, dict) else model(data)
