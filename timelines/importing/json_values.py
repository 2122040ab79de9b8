"""Values of JSON that other programs wrote. An optional value of an unexpected type counts as absent."""

import math
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def text_of(item: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is a text, or ""."""
    return next((value for name in names if isinstance(value := item.get(name), str)), "")


def object_of(item: Mapping[str, Any], name: str) -> Json:
    value = item.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(item: Mapping[str, Any], name: str) -> list[Json]:
    """Return the objects of a field. JSON-LD writes a list of one value without the list."""
    return [each for each in _as_list(item.get(name)) if isinstance(each, dict)]


def links_of(item: Mapping[str, Any], name: str) -> list[str]:
    """Return the addresses of a field: texts, or objects with an address (Activity Streams 2.0, 4.1 and 4.2)."""
    values = (
        text_of(each, "id", "href", "url") if isinstance(each, dict) else each for each in _as_list(item.get(name))
    )
    return [value for value in values if isinstance(value, str) and value]


def link_of(item: Mapping[str, Any], name: str) -> str:
    return next(iter(links_of(item, name)), "")


def is_true(value: object) -> bool:
    return value is True or value == 1 or (isinstance(value, str) and value.lower() == "true")


def focus_of(item: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return a focal point with coordinates from -1 to 1. An absent or invalid point becomes the middle, (0, 0)."""
    value = item.get(name)
    if isinstance(value, list) and len(value) == 2 and all(type(each) in (int, float) for each in value):
        x, y = value
        if math.isfinite(x) and math.isfinite(y):
            return (max(-1.0, min(1.0, float(x))), max(-1.0, min(1.0, float(y))))
    return (0.0, 0.0)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
