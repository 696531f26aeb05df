"""Client of the Millrace data service: enrich, reveal, verify and search business contacts.

from millrace import Client

with Client(api_key="...", base_url="https://api.example.com") as client:
    print(client.enrich(email="ana@acme.example"))
"""

from __future__ import annotations

from . import errors, models
from ._async.client import AsyncClient
from ._async.streams import AsyncEventStream, AsyncPager, AsyncStream
from ._errors import (
    ApiError,
    BadBodyError,
    CallError,
    ConnectionFailedError,
    MillraceError,
    TimedOutError,
    WebhookSignatureError,
)
from ._model import Model, Page
from ._policy import LastResponse, RateLimit
from ._signatures import WebhookEvent, verify_webhook
from ._sync.client import Client
from ._sync.streams import EventStream, Pager, Stream
from ._version import __version__
from .models import *  # noqa: F403

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncEventStream",
    "AsyncPager",
    "AsyncStream",
    "BadBodyError",
    "CallError",
    "Client",
    "ConnectionFailedError",
    "EventStream",
    "LastResponse",
    "MillraceError",
    "Model",
    "Page",
    "Pager",
    "RateLimit",
    "Stream",
    "TimedOutError",
    "WebhookEvent",
    "WebhookSignatureError",
    "__version__",
    "errors",
    "models",
    "verify_webhook",
]
__all__ += models.__all__
