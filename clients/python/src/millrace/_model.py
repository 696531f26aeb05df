"""The base of all records."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator, KeysView, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

_MASK = "[redacted]"


class Model:
    """A record as the service sent it.

    Known fields are attributes, and read as None when the service left them out. Every field that was sent,
    also one that this version does not know, can be read by its name: ``record["new_field"]``.
    """

    _models: ClassVar[dict[str, type[Model]]] = {}
    _secrets: ClassVar[tuple[str, ...]] = ()
    _data: Mapping[str, Any]

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.__dict__["_data"] = data

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        return dict(self._data)

    def to_json(self) -> str:
        """The same as JSON, without its secrets."""
        shown = {name: _MASK if name in self._secrets else value for name, value in self._data.items()}
        return json.dumps(shown, ensure_ascii=False)

    def keys(self) -> KeysView[str]:
        """The names of the fields that were sent: ``dict(record)`` is the JSON object too."""
        return self._data.keys()

    def __getitem__(self, name: str) -> Any:
        return self._data[name]

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (
            f"{name}={_MASK if name in self._secrets else value!r}"
            for name, value in self._data.items()
            if value is not None
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[type[Model], tuple[Mapping[str, Any]]]:
        return type(self), (self._data,)

    if not TYPE_CHECKING:
        # Hidden from type checkers, so that they still find a misspelt attribute.

        def __getattr__(self, attribute: str) -> Any:
            name = attribute.removesuffix("_")
            if name in self._data:
                value = self._nested(name, self._data[name])
                self.__dict__[attribute] = value
                return value
            if any(attribute in inspect.get_annotations(known) for known in type(self).__mro__):
                return None
            raise AttributeError(f"{type(self).__name__} has no field {attribute!r}")

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(f"{type(self).__name__} cannot be changed")

    def _nested(self, name: str, value: Any) -> Any:
        model = self._models.get(name)
        if model is None:
            return value
        if isinstance(value, list):
            return [model(item) if isinstance(item, dict) else item for item in value]
        return model(value) if isinstance(value, dict) else value


T = TypeVar("T", bound=Model)


def wrong_field(model: type[Model], found: object) -> str | None:
    """The first known field whose type is not that of the document; None when all are right."""
    if not isinstance(found, dict):
        return "the answer"
    checks = _checks(model)  # type: ignore[arg-type]  # a type is hashable
    return next((name for name, value in found.items() if name in checks and not checks[name](value)), None)


_Check = Callable[[Any], bool]


@functools.cache
def _checks(model: type[Model]) -> dict[str, _Check]:
    hints = get_type_hints(model).items()
    return {name.removesuffix("_"): _check(hint) for name, hint in hints if not name.startswith("_")}


def _check(hint: Any) -> _Check:
    """Whether a value is of the type of a field. None is of every type: nothing was sent."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if kind in (Union, UnionType):
        some = [_check(one) for one in inner if one is not type(None)]
        return some[0] if len(some) == 1 else lambda value: any(fits(value) for fits in some)
    if kind is list:
        item = _check(inner[0])
        return lambda value: value is None or (isinstance(value, list) and all(map(item, value)))
    if kind is dict:
        item = _check(inner[1])
        return lambda value: value is None or (isinstance(value, dict) and all(map(item, value.values())))
    if isinstance(hint, type) and issubclass(hint, Model):
        return lambda value: value is None or wrong_field(hint, value) is None
    if hint is int or hint is float:
        return lambda value: value is None or (isinstance(value, (int, hint)) and not isinstance(value, bool))
    wanted = str if kind is Literal else hint
    return lambda value: value is None or isinstance(value, wanted)


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    data: list[T]
    next_cursor: str | None
    total: int | None
    """Of a search: how many there are in all."""
