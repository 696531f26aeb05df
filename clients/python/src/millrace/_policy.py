"""When to try again, and what an answer means. Knows neither sockets nor clocks."""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from ._codes import ERROR_CLASSES
from ._errors import ApiError, BadBodyError, CallError
from ._model import Page, T, wrong_field

MAX_BYTES = 16 * 1024 * 1024
MAX_DELAY = 8.0
MAX_RETRY_AFTER = 60.0
MAX_RATE_LIMIT_WAIT = 900.0
MASK = "[redacted]"
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RateLimit:
    """The quota of the API key."""

    limit: int
    """Requests a minute; 0 is unlimited."""
    remaining: int
    """Requests that may be sent at once now."""
    reset: float
    """Seconds until all of them may be sent at once again."""


@dataclass(frozen=True)
class LastResponse:
    """What an answer said besides its body."""

    status: int
    request_id: str | None
    credits_charged: int
    replayed: bool
    """It is the stored answer to an earlier request with the same ``Idempotency-Key``."""
    rate_limit: RateLimit | None
    """None for a call without a quota."""


@dataclass(frozen=True)
class Options:
    """What a client was created with."""

    api_key: str
    base_url: str
    timeout: float = 30.0
    max_attempts: int = 4
    retry_delay: float = 0.5
    wait_for_rate_limit: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[!-~]+", self.api_key):
            raise ValueError("api_key: expected printable ASCII without spaces; pass it or set MILLRACE_API_KEY")
        if not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", self.base_url):
            raise ValueError(
                "base_url: expected http(s)://host without credentials or query; pass it or set MILLRACE_BASE_URL"
            )
        if self.timeout <= 0 or self.max_attempts < 1 or self.retry_delay < 0:
            raise ValueError("timeout must be above 0, max_attempts at least 1, retry_delay at least 0")

    def __repr__(self) -> str:
        return f"base_url={self.base_url!r}, api_key={MASK!r}"


class Retries:
    """The attempts of one call."""

    def __init__(self, options: Options, draw: Callable[[], float] = random.random) -> None:
        self._options = options
        self._draw = draw
        self._waited = 0.0
        self.attempts = 0
        """Attempts that count; a rate limit that is waited for does not."""
        self.sent = 0

    def restart(self) -> None:
        """A stream has brought something new."""
        self.attempts = 0
        self._waited = 0.0

    def pause_after(self, error: CallError) -> float:
        """Seconds to wait before the next attempt. Raises the error when there is none."""
        self.sent += 1
        error.attempts = self.sent
        asked = error.retry_after or 0.0
        if not error.retryable:
            raise error
        if self._options.wait_for_rate_limit and error.status == 429:
            pause = self._longer(asked, self.attempts + 1)
            self._waited += pause
            if self._waited > MAX_RATE_LIMIT_WAIT:
                raise error
            return pause
        self.attempts += 1
        if self.attempts >= self._options.max_attempts or asked > MAX_RETRY_AFTER:
            raise error
        return self._longer(asked, self.attempts)

    def _longer(self, asked: float, attempt: int) -> float:
        jitter = self._draw()
        backoff = jitter * min(MAX_DELAY, self._options.retry_delay * 2.0 ** min(attempt - 1, 30))
        return max(backoff, asked * (1 + jitter / 10))


def last_response(status: int, headers: Mapping[str, str], api_key: str) -> LastResponse:
    """What the headers of an answer say."""
    limit, remaining, reset = (_number(headers.get(f"x-ratelimit-{name}")) for name in ("limit", "remaining", "reset"))
    known = limit is not None and remaining is not None and reset is not None
    return LastResponse(
        status=status,
        request_id=redact(headers["x-request-id"], api_key) if "x-request-id" in headers else None,
        credits_charged=int(_number(headers.get("x-credits-charged")) or 0),
        replayed=headers.get("idempotency-replayed") == "true",
        rate_limit=RateLimit(int(limit or 0), int(remaining or 0), reset or 0.0) if known else None,
    )


def to_error(call: str, status: int, headers: Mapping[str, str], body: bytes, api_key: str) -> CallError:
    """The error that an answer of 300 and above is. ``call`` is the method and the path."""
    problem: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        problem = json.loads(body)
    known = problem if isinstance(problem, dict) and isinstance(problem.get("code"), str) else None
    request_id = headers.get("x-request-id") or (known or {}).get("request_id")
    retry_after = parse_retry_after(headers.get("retry-after"), headers.get("date"))
    if known is None:
        missing = status < 400 or status == 404
        code = "wrong_address" if missing else f"http_{status}"
        detail = "this is not the data service" if missing else "the answer has no problem document"
        retryable, errors = status in RETRYABLE, []
    else:
        code, detail = known["code"], str(known.get("detail") or known.get("title") or "refused")
        retryable = known["retryable"] if isinstance(known.get("retryable"), bool) else status in RETRYABLE
        items = known.get("errors")
        errors = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        detail = "; ".join([detail, *(_finding(item) for item in errors[:3])])
    return ERROR_CLASSES.get(code, ApiError)(
        redact(f"{call}: {detail} ({code}, status {status})", api_key),
        code=redact(code, api_key),
        status=status,
        request_id=redact(request_id, api_key) if isinstance(request_id, str) else None,
        retryable=retryable,
        retry_after=retry_after,
        errors=[{name: redact(str(text), api_key) for name, text in item.items()} for item in errors],
    )


def parse_json(call: str, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """The JSON object of a success. Raises ``bad_body`` for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_body(call, "the answer is not JSON", status, headers) from None
    if not isinstance(found, dict):
        raise bad_body(call, "the answer is not a JSON object", status, headers)
    return found


def parse_record(model: type[T], call: str, status: int, headers: Mapping[str, str], body: bytes) -> T:
    """The record of a success. Raises ``bad_body`` for one whose fields have other types."""
    return _record(model, call, status, headers, parse_json(call, status, headers, body))


def parse_page(model: type[T], call: str, status: int, headers: Mapping[str, str], body: bytes) -> Page[T]:
    """The page of a list. Raises ``bad_body`` for anything else."""
    found = parse_json(call, status, headers, body)
    data, meta = found.get("data"), found.get("meta") or {}
    after, total = (meta.get("next_cursor"), meta.get("total")) if isinstance(meta, dict) else (0, None)
    if not isinstance(data, list) or not isinstance(after, str | None) or not isinstance(total, int | None):
        raise bad_body(call, "the answer is not a page", 200, headers)
    return Page([_record(model, call, 200, headers, item) for item in data], after, total)


def _record(model: type[T], call: str, status: int, headers: Mapping[str, str], found: Any) -> T:
    wrong = wrong_field(model, found)
    if wrong is not None:
        raise bad_body(call, f"the type of {wrong} is not that which was promised", status, headers)
    return model(found)


def poll_pause(headers: Mapping[str, str]) -> float:
    """Seconds until a verification is asked for again: what the service says, from 1 to 60."""
    asked = parse_retry_after(headers.get("retry-after"), headers.get("date"))
    return min(MAX_RETRY_AFTER, max(1.0, asked or 0.0))


def bad_body(call: str, detail: str, status: int, headers: Mapping[str, str]) -> BadBodyError:
    """An answer that is of no use, and may be better next time."""
    return BadBodyError(
        f"{call}: {detail} (bad_body, status {status})",
        code="bad_body",
        status=status,
        request_id=headers.get("x-request-id"),
        retryable=True,
    )


def parse_retry_after(value: str | None, date: str | None) -> float | None:
    """Seconds to wait (RFC 9110, 10.2.3). A date is read against the answer's own ``Date``."""
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(date) if date else datetime.now(timezone.utc)
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None


def redact(text: str, api_key: str) -> str:
    """The text without the key."""
    return text.replace(api_key, MASK)


def _finding(item: Mapping[str, Any]) -> str:
    return f"{item.get('pointer') or item.get('parameter') or ''}: {item.get('detail', '')}".lstrip(": ")


def _number(value: str | None) -> float | None:
    return float(value) if value is not None and re.fullmatch(r"\d{1,15}(\.\d{1,9})?", value.strip()) else None
