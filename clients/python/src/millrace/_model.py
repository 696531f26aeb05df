"""The base of all records."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

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


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    data: list[T]
    next_cursor: str | None
    total: int | None
    """Of a search: how many there are in all."""
