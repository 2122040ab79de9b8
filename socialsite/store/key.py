"""Keys have the form `<component>:{<tag>}:<name>`. The tag selects the node on every topology.

Keys contain fixed words, numbers and hex digests, but no text of users. The contract tests compare every key that they
see with `KEY_PATTERN`.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, Self, cast

KEY_PATTERN = re.compile(r"([a-z]+):\{([a-z]+|[a-z]?\d+|[0-9a-f]+)\}:[a-z]+(?::(?:\d+|[0-9a-f]+|[a-z]+))*")

KEY_CACHE_SIZE = 20_000
"""The maximum number of cached keys per key builder. They use about 5 MB."""
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
        key = str.__new__(cls, f"{component}:{{{tag}}}:{name}")
        key.component = component
        key.tag = tag
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


def key_by_id(component: str, tag: str, name: str) -> Callable[[int], Key]:
    """Return a builder of keys whose tag contains an id: `key_by_id("posts", "m%d", "media")(7)`."""

    def build(number: int) -> Key:
        return Key(component, tag=tag % number, name=name)

    return build


def key_by_digest(component: str, name: str) -> Callable[[str], Key]:
    """Return a builder of keys whose tag is a digest."""

    def build(digest: str) -> Key:
        return Key(component, tag=digest, name=name)

    return build


def single_key(component: str, tag: str, name: str) -> Callable[[], Key]:
    """Return a function that returns the only key of its kind."""
    key = Key(component, tag=tag, name=name)

    def build() -> Key:
        return key

    return build
