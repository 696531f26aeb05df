"""The runner of the conformance suite: scenarios on standard input, a line of JSON for each on standard output."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import millrace
from millrace._records import file_lines

JSON = dict[str, Any]
T = TypeVar("T")


def main() -> None:
    tasks: list[JSON] = json.load(sys.stdin)["scenarios"]
    for task in [task for task in tasks if task["alone"]]:
        report(task)
    rest = [task for task in tasks if not task["alone"]]
    with ThreadPoolExecutor(16) as pool:
        done = pool.map(report, [task for task in rest if task["variant"] == "sync"])
        asyncio.run(together([task for task in rest if task["variant"] == "async"]))
        list(done)


def report(task: JSON) -> None:
    before = memory("VmRSS")
    outcomes = asyncio.run(run(task)) if task["variant"] == "async" else finish(run(task))
    used = memory("VmHWM")
    show(task, outcomes, None if before is None or used is None else used - before)


async def together(tasks: list[JSON]) -> None:
    places = asyncio.Semaphore(16)

    async def one(task: JSON) -> None:
        async with places:
            show(task, await run(task), None)

    await asyncio.gather(*(one(task) for task in tasks))


def show(task: JSON, outcomes: list[JSON], mib: float | None) -> None:
    line = {"name": task["name"], "variant": task["variant"], "outcomes": outcomes, "memory_mib": mib}
    text = json.dumps(line, default=plain) + "\n"
    with PRINTING:
        sys.stdout.write(text)


async def run(task: JSON) -> list[JSON]:
    """The steps of a scenario with one client. With the synchronous client it never waits for anything."""
    kind = millrace.AsyncClient if task["variant"] == "async" else millrace.Client
    client: Any = kind(api_key=task["api_key"], base_url=task["base_url"], **task["options"])
    outcomes: list[JSON] = []
    for step in task["steps"]:
        args = resolve(step.get("args", {}), outcomes)
        outcome: JSON = {}
        one = client.with_options(**step["with"]) if "with" in step else client
        for _ in range(step.get("repeat", 1)):
            outcome = await outcome_of(one, step["call"], args)
            if "error" in outcome:
                break
        outcome["last_response"] = one.last_response
        outcomes.append(outcome)
    await maybe(client.close())
    return outcomes


async def outcome_of(client: Any, name: str, args: JSON) -> JSON:
    try:
        return {"result": await call(client, name, dict(args))}
    except millrace.CallError as error:
        fields = ("code", "status", "request_id", "retryable", "retry_after", "errors", "attempts")
        return {"error": {"message": str(error), **{field: getattr(error, field) for field in fields}}}
    except ValueError as error:
        return {"error": {"code": "configuration", "message": str(error)}}
    except millrace.WebhookSignatureError as error:
        return {"error": {"code": "signature", "message": str(error)}}
    except asyncio.CancelledError:
        return {"error": {"code": "aborted", "status": 0, "retryable": False}}


async def call(client: Any, name: str, args: JSON) -> Any:
    take = args.pop("take", None)
    if name == "describe":
        return f"{client!r} {client}"
    if name == "webhooks.create.describe":
        webhook = await maybe(client.webhooks.create(**args))
        return f"{webhook!r} {webhook.to_json()}"
    if name == "verify_webhook":
        return millrace.verify_webhook(args["body"], args["headers"], args["secrets"])
    if name == "csv_records":
        return [record_lengths(text.encode()) for text in args["texts"]]
    if name == "at_once":
        return sorted({found.name for found in await at_once(client, args)})
    if name == "forked":
        # A thread that runs no event loop: each child starts one of its own.
        return await asyncio.to_thread(forked, client, args) if is_async(client) else forked(client, args)
    if name == "cancelled":
        pending = asyncio.ensure_future(call(client, args["call"], args["args"]))
        asyncio.get_running_loop().call_later(args["after"], pending.cancel)
        return await pending
    if name == "batches.create_big":
        count = args.pop("lines")
        lines = ({"custom_id": f"{i:0200}", "email": f"person{i}@nobody.example"} for i in range(count))
        return await maybe(client.batches.create(lines=lines, **args))
    if name == "batches.count_results":
        count, last = 0, 0
        async for line in each(client.batches.results(args["id"])):
            count, last = count + 1, line.line
        return {"count": count, "last": last}
    if name == "batches.upload_part":
        args["content"] = args["content"].encode()
    if name == "search_contacts.pages":
        found = client.search_contacts(**args).pages()
        pages = [page async for page in each(found, take)]
        return [{"count": len(page.data), "total": page.total, "next_cursor": page.next_cursor} for page in pages]
    target = client
    for part in name.split("."):
        target = getattr(target, part)
    positional = [args.pop(key) for key in ("id", "number", "delivery") if key in args and name != "enrich"]
    answer = await maybe(target(*positional, **args))
    if not isinstance(answer, STREAMS):
        return answer
    items = [item async for item in each(answer, take)]
    if isinstance(answer, (millrace.EventStream, millrace.AsyncEventStream)):
        return {"items": items, "last_event_id": answer.last_event_id}
    return items


async def at_once(client: Any, args: JSON) -> list[Any]:
    if is_async(client):
        return await asyncio.gather(*(call(client, args["call"], dict(args["args"])) for _ in range(args["count"])))
    with ThreadPoolExecutor(args["count"]) as pool:
        return list(pool.map(lambda _: finish(call(client, args["call"], dict(args["args"]))), range(args["count"])))


def record_lengths(text: bytes) -> list[int]:
    found = file_lines(iter([text]), True)
    contents = [line.removesuffix(b"\n").removesuffix(b"\r") for line in found]
    contents[:1] = [content.removeprefix(b"\xef\xbb\xbf") for content in contents[:1]]
    return [len(content) for content in contents if content.strip(b" \t")]


def is_async(client: Any) -> bool:
    return isinstance(client, millrace.AsyncClient)


def forked(client: Any, args: JSON) -> list[list[str]]:
    """The different names that each child gets."""
    children = [fork(client, args["call"], each, args["repeat"]) for each in args["each"]]
    found = []
    for child, output in children:
        with os.fdopen(output) as text:
            found.append(json.load(text))
        os.waitpid(child, 0)
    return found


def fork(client: Any, name: str, args: JSON, repeat: int) -> tuple[int, int]:
    output, names = os.pipe()
    child = os.fork()
    if child != 0:
        os.close(names)
        return child, output

    async def calls() -> list[str]:
        return sorted({(await call(client, name, dict(args))).name for _ in range(repeat)})

    try:
        found = asyncio.run(calls()) if is_async(client) else finish(calls())
        os.write(names, json.dumps(found).encode())
    except BaseException as error:
        os.write(names, json.dumps([repr(error)]).encode())
    os._exit(0)


PRINTING = Lock()
STREAMS = (millrace.Pager, millrace.AsyncPager, millrace.Stream, millrace.AsyncStream)


async def each(source: Any, take: int | None = None) -> Any:
    taken = 0
    if hasattr(source, "__aiter__"):
        async for item in source:
            yield item
            taken += 1
            if taken == take:
                break
    else:
        for item in source:
            yield item
            taken += 1
            if taken == take:
                break
    if hasattr(source, "close"):
        await maybe(source.close())


async def maybe(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("a synchronous scenario waits")


def resolve(value: Any, outcomes: list[JSON]) -> Any:
    """``$0.id`` is the id in the result of the first step."""
    if isinstance(value, dict):
        return {name: resolve(item, outcomes) for name, item in value.items()}
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    step, *path = value[1:].split(".")
    found = outcomes[int(step)]["result"]
    for part in path:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def plain(value: object) -> Any:
    if isinstance(value, millrace.Model):
        return value.to_dict()
    if isinstance(value, (millrace.LastResponse, millrace.WebhookEvent)):
        return asdict(value)
    raise TypeError(type(value).__name__)


def memory(field: str) -> float | None:
    """A line of /proc/self/status in MiB; None where there is none."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
