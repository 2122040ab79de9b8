"""Pages from kept shells: a template rendered once, cut where requests differ, joined with what differs.

Rendering the frame of a page (navigation, words, forms) costs a millisecond, five times what its 30 kept
entries cost. A view marks what differs from request to request as a `Slot`; the rest of the context is the
shell's key, so a shell is used only for exactly the values it was rendered with. A context that holds
anything but plain values is rendered as ever. A slot under a filter cannot be cut out; such a template is
rendered as ever, too.
"""

import re
import secrets
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from threading import Lock
from typing import Any

import msgspec
from django.template import loader
from django.utils.functional import Promise
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from accounts.domain import Author

SHELLS_KEPT = 2_048
"""Some kB each; one for a reader's home, one for each profile a reader looks at."""
PLAIN = (str, int, type(None))
COMMON = frozenset((*PLAIN, bool, SafeString))


class Html(bytes):
    """HTML as it is sent, ready to be joined: what a page is full of, encoded once and kept."""

    __slots__ = ()

    def __html__(self) -> SafeString:
        return SafeString(self.decode())


Context = Mapping[str, Any]
Text = str | Html
Values = dict[str, Text]
Key = tuple[str, str | None, Hashable]
UNKNOWN: list[Any] = []
"""Stands for "not looked for yet": None says that there can be no such shell."""

_SECRET = secrets.token_hex(8)  # nobody can write a mark into a text
_MARK = re.compile(rf"{{\|{_SECRET} ([^|]*)\|}}")


class Slot(msgspec.Struct, frozen=True):
    """A text that differs between requests. That there is one belongs to the shell, which one does not."""

    value: Text


class Viewer(msgspec.Struct, frozen=True, gc=False):
    """What the frame of a page shows of the reader. Not the Account, whose equality is its id alone."""

    id: int
    handle: str
    display_name: str
    is_staff: bool


class _NotPlain(Exception):
    """The context holds something that a shell cannot be kept for."""


class Shells:
    """The kept ones of a process, the ones used last."""

    def __init__(self, kept: int = SHELLS_KEPT) -> None:
        self._kept = kept
        self._shells: OrderedDict[Key, list[Any] | None] = OrderedDict()
        self._lock = Lock()  # error pages may be rendered in a thread

    def __len__(self) -> int:
        return len(self._shells)

    def render(self, template: str, context: Context, *, keep: bool = True) -> bytes:
        """The page as it is sent, from its shell where one can be kept."""
        values: Values = {}
        try:
            key = (template, get_language(), _key_of(context, "", values)) if keep else None
        except _NotPlain:
            key = None
        parts = self._shell(key, context) if key else None
        if parts is None:
            return loader.get_template(template).render(_with_values(context)).encode()
        return b"".join([part if type(part) is bytes else _sent(values[part]) for part in parts])

    def _shell(self, key: Key, context: Context) -> list[Any] | None:
        """Bytes, name of a slot, bytes, name of a slot, … bytes. None: a slot stands under a filter."""
        with self._lock:
            found = self._shells.get(key, UNKNOWN)
            if found is not UNKNOWN:
                self._shells.move_to_end(key)
                return found
        parts = _cut(loader.get_template(key[0]).render(_with_marks(context, "")))
        with self._lock:
            self._shells[key] = parts
            if len(self._shells) > self._kept:
                self._shells.popitem(last=False)
        return parts


def _sent(value: Text) -> bytes:
    return value if isinstance(value, bytes) else conditional_escape(value).encode()


def _cut(html: str) -> list[Any] | None:
    parts = _MARK.split(html)
    if any(_SECRET in part for part in parts):
        return None
    return [part if at % 2 else part.encode() for at, part in enumerate(parts)]


def _key_of(context: Context, prefix: str, values: Values) -> Hashable:
    """All that the shell depends on; fills `values` with the slots'.

    Types count: a safe text is another text.
    """
    key: list[Hashable] = []
    for name, value in context.items():
        if isinstance(value, Slot):
            values[prefix + name] = value.value
            key.append(name)
        elif (kind := type(value)) in COMMON:
            key.append((name, kind, value))
        elif isinstance(value, dict):
            key.append((name, _key_of(value, f"{prefix}{name}.", values)))
        else:
            key.append((name, _plain(value)))
    return tuple(key)


def _plain(value: object) -> Hashable:
    if isinstance(value, PLAIN):
        return type(value), value
    if isinstance(value, (Viewer, Author)):
        return value
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, (list, tuple)) and all(isinstance(each, Author) for each in value):
        return tuple(value)
    raise _NotPlain


def _with_marks(context: Context, prefix: str) -> dict[str, Any]:
    marked: dict[str, Any] = {}
    for name, value in context.items():
        if isinstance(value, Slot):
            marked[name] = f"{{|{_SECRET} {prefix}{name}|}}"
        else:
            marked[name] = _with_marks(value, f"{prefix}{name}.") if isinstance(value, dict) else value
    return marked


def _with_values(context: Context) -> dict[str, Any]:
    return {name: _value(value) for name, value in context.items()}


def _value(value: object) -> object:
    if isinstance(value, Slot):
        return value.value.__html__() if isinstance(value.value, Html) else value.value
    return _with_values(value) if isinstance(value, dict) else value


render = Shells().render
