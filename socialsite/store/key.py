"""Keys: `<component>:{<tag>}:<name>`. The text in braces decides placement on every topology.

Only fixed words, numbers and hex digests stand in keys, never user text; `KEY_PATTERN` says so exactly and the
contract suite holds every key it has seen against it.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, Self, cast

KEY_PATTERN = re.compile(r"[a-z]+:\{([a-z]+|[a-z]?\d+|[0-9a-f]+)\}:[a-z]+(:(\d+|[0-9a-f]+|[a-z]+))*")

KEY_CACHE_SIZE = 20_000  # keys a builder remembers: about 5 MB
Params = ParamSpec("Params")


def cached_key(build: "Callable[Params, Key]") -> "Callable[Params, Key]":
    """For builders of keys that pages ask for again and again: a kept key costs a tenth of a built one."""
    return cast("Callable[Params, Key]", lru_cache(maxsize=KEY_CACHE_SIZE)(build))


class Key(str):
    """A key that knows its component and its tag; a plain string for everybody else."""

    __slots__ = ("component", "tag")
    component: str
    tag: str

    def __new__(cls, component: str, *, tag: str, name: str) -> Self:
        key = super().__new__(cls, f"{component}:{{{tag}}}:{name}")
        key.component = component
        key.tag = tag
        return key

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key of a text that came back from a server. Raises ValueError outside the grammar."""
        if not KEY_PATTERN.fullmatch(text):
            raise ValueError(f"not a key of this site: {text!r}")
        component, rest = text.split(":{", 1)
        tag, name = rest.split("}:", 1)
        return cls(component, tag=tag, name=name)
