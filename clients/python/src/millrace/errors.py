"""Every error of this library, and a class for each code of the service."""

from __future__ import annotations

from ._codes import *  # noqa: F403
from ._codes import __all__ as _codes
from ._errors import (
    ApiError,
    BadBodyError,
    CallError,
    ConnectionFailedError,
    MillraceError,
    TimedOutError,
    WebhookSignatureError,
)

__all__ = [
    "ApiError",
    "BadBodyError",
    "CallError",
    "ConnectionFailedError",
    "MillraceError",
    "TimedOutError",
    "WebhookSignatureError",
]
__all__ += _codes
