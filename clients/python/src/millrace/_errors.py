"""The errors of this library. Those of the service's codes are in ``millrace.errors``."""

from __future__ import annotations

from typing import Any


class MillraceError(Exception):
    """Whatever this library raises on purpose."""


class CallError(MillraceError):
    """A call without the answer that it asked for."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int = 0,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        errors: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        """The code of the service, or ``network``, ``timeout``, ``bad_body``, ``wrong_address``, ``http_<status>``."""
        self.status = status
        """The HTTP status; 0 without an answer."""
        self.request_id = request_id
        """Give it to the support of the service."""
        self.retryable = retryable
        """Whether the same call may succeed later."""
        self.retry_after = retry_after
        """Seconds that the service asked to wait; None when it did not say."""
        self.errors = errors or []
        """What is wrong and where: ``pointer`` or ``parameter``, ``code``, ``detail``."""
        self.attempts = 1
        """Attempts of this call."""
        self.batch_id: str | None = None
        """The job that stays open when the upload of its parts failed."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Process pools send errors to their parent."""
        return _rebuild, (type(self), str(self), dict(self.__dict__))


def _rebuild(kind: type[CallError], message: str, fields: dict[str, Any]) -> CallError:
    error = kind(message, code=fields["code"])
    error.__dict__.update(fields)
    return error


class ApiError(CallError):
    """An answer of the service that says no. Each code has a class of its own."""


class ConnectionFailedError(CallError):
    """No answer came: ``network``."""


class TimedOutError(ConnectionFailedError):
    """No answer came in time: ``timeout``."""


class BadBodyError(CallError):
    """The answer broke off, is too large, or is not what was promised: ``bad_body``."""


class WebhookSignatureError(MillraceError):
    """A webhook delivery that the service did not sign, or not now."""
