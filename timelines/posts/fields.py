"""What a field of a post declares (docs/reference/decisions/post-fields.md). post.py declares the fields in FIELDS.

Whatever depends on the fields of a post reads the declarations: forms, drafts, edits, the history of a post, JSON,
search, filters, blocked words, feeds, pages for staff, export and import.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.domain import QUOTE_POLICIES
from socialsite import languages
from socialsite.errors import LazyText
from socialsite.ids import PostId, parse_id
from timelines.errors import PostInvalid

TRUE_VALUES, FALSE_VALUES = ("on", "1", "true", "True"), ("", "off", "0", "false", "False")


def parse_flag(fields: Mapping[str, str], name: str) -> bool:
    if (text := fields.get(name, "")) not in (*TRUE_VALUES, *FALSE_VALUES):
        raise PostInvalid({name: _("This must be on or off.")})
    return text in TRUE_VALUES


def parse_language(fields: Mapping[str, str], name: str) -> str | None:
    """Return the language. Clients also send a region, as in "pt-BR", which is not stored."""
    code = languages.parse_language(tag := fields.get(name, ""))
    if tag and code is None:
        raise PostInvalid({name: _("This is not the code of a language, such as “en” or “de”.")})
    return code


def parse_quote_policy(fields: Mapping[str, str], name: str) -> str | None:
    if (policy := fields.get(name, "")) not in ("", *QUOTE_POLICIES):
        raise PostInvalid({name: _("This must be one of: public, followers, nobody.")})
    return policy or None


def parse_post_id(fields: Mapping[str, str], name: str) -> PostId | None:
    post_id = parse_id(text := fields.get(name, ""))
    if text and post_id is None:
        raise PostInvalid({name: _("This is not the id of a post.")})
    return None if post_id is None else PostId(post_id)


@dataclass(frozen=True, slots=True)
class PostField:
    """A field of a post. `name` is its attribute of PostDetails, or of Post."""

    name: str
    form_names: tuple[str, ...] = ()
    """The names of its form fields, which a draft keeps. Errors are at the first."""
    label: LazyText = ""
    """The title of the field on pages."""
    texts: Callable[[Any], Iterable[str]] | None = None
    """Returns the texts of a value that people read."""
    history: Callable[[Any], str] | None = None
    """Returns what the history of a post compares, if this is not the texts."""
    is_edited: bool = True
    """True if an edit may change the field."""
    is_content: bool = False
    """True if an API client empties the field by leaving it out, and an edit of it notifies boosters and quoters."""

    def value_of(self, post: Any) -> Any:
        return getattr(post if self.name in post.__struct_fields__ else post.extra, self.name)

    def describe(self, post: Any) -> str | None:
        """Return what the history of a post compares, or None if it leaves the field out."""
        if self.history is not None:
            return self.history(post)
        return None if self.texts is None else "\n".join(self.texts(self.value_of(post)))


@dataclass(frozen=True, slots=True)
class ValueField(PostField):
    """A field with one form field, whose name is also the name in JSON."""

    parse: Callable[[Mapping[str, str], str], Any] = lambda fields, name: fields.get(name, "")
    """Returns the value in the form field of this name. Raises PostInvalid."""

    @property
    def form_name(self) -> str:
        return self.form_names[0]

    def form_value(self, details: object) -> str:
        value = getattr(details, self.name)
        return "on" if value is True else str(value or "")


def single_text(text: str) -> tuple[str]:
    return (text,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortText(ValueField):
    """A text of one line beside the text of the post. Its form field has the name of its attribute."""

    texts: Callable[[str], Iterable[str]] | None = single_text
    is_content: bool = True
    icon: str
    hint: LazyText
    """The placeholder of its input."""
    activity_name: str
    """Its name in the archive of an account (ActivityStreams)."""
    max_graphemes: int | None = None
    """The maximum length. If it is None, the text counts towards the length of the post."""
    folds: bool = False
    """True if the post is folded below the text. Otherwise the text is shown below that of the post."""
