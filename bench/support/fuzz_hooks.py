"""Hooks of schemathesis for bench/fuzz.ts. Without them most requests would be refused for one and the same reason."""
import re
import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    # The fuzzer sends one key with many requests, and all but the first would be a mismatch.
    headers = case.headers
    key = headers.get("Idempotency-Key") if headers else None
    if isinstance(key, str) and re.fullmatch(r"[ -~]{1,255}", key):
        headers["Idempotency-Key"] = str(uuid.uuid4())
    # A cursor that is made up belongs to no list, and hides what else is in the query.
    query = case.query
    cursor = query.get("cursor") if query else None
    if isinstance(cursor, str) and re.fullmatch(r"[A-Za-z0-9_-]+", cursor):
        del query["cursor"]
