"""Keys have the form `<component>:{<tag>}:<name>`. The tag selects the node on every topology.

Keys contain fixed words, numbers and hex digests, but no text of users. The contract tests compare every key that they
see with `KEY_PATTERN`.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, Self, cast

KEY_PATTERN = re.compile(r"([a-z]+):\{([a-z]+|[a-z]?\d+|[0-9a-f]+)\}:[a-z]+(?::(?:\d+|[0-9a-f]+|[a-z]+))*")

KEY_CACHE_SIZE = 2_048
"""The maximum number of keys or commands in a cache. One takes at most about 1 kB."""
READER_CACHE_SIZE = 256
"""The maximum number of readers whose keys or commands a cache contains. Some need a key for each partition."""
Params = ParamSpec("Params")


def cached_key(build: "Callable[Params, Key]") -> "Callable[Params, Key]":
    """Decorate a key builder with a cache. A cached key takes a tenth of the time of a new one."""
    return cast("Callable[Params, Key]", lru_cache(maxsize=KEY_CACHE_SIZE)(build))


class Key(str):
    """A string with the attributes `component` and `tag`."""

    __slots__ = ("component", "tag")
    component: str
    tag: str

    def __new__(cls, component: str, *, tag: str, name: str) -> Self:
        """Name a key. Code that stores or reads a value takes the builder of a family (key_families.py)."""
        key = str.__new__(cls, f"{component}:{{{tag}}}:{name}")
        key.component = component
        key.tag = tag
        return key

    def with_tag(self, tag: str) -> "Key":
        """Return the key of the same name in another partition."""
        return Key(self.component, tag=tag, name=self.rpartition("}:")[2])

    def with_last_part(self, part: int | str) -> Self:
        """Return the key with another last part. It takes a third of the time of a key builder."""
        key = str.__new__(type(self), f"{self[: self.rindex(':')]}:{part}")
        key.component, key.tag = self.component, self.tag
        return key

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a key that a server returned. Raises ValueError if it does not match KEY_PATTERN."""
        match = KEY_PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f"not a key of this site: {text!r}")
        key = str.__new__(cls, text)
        key.component, key.tag = match[1], match[2]
        return key
