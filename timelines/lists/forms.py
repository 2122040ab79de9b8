"""The fields of a list's forms: as the list has them, or as they were sent and refused."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from socialsite.ids import parse_id
from timelines.errors import ListInvalid
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.pages.presenters import Json
from timelines.pages.queries import _cursor_error
from timelines.pages.responses import TemplateContext


def mark_current_parts(choices: list[TemplateContext], found: AccountList) -> list[TemplateContext]:
    """The lists that this one may be made of, and whether it is."""
    first, chosen = str(found.parts[0]) if found.parts else "", set(map(str, found.parts[1:]))
    return [
        {**each, "is_first": each["id"] == first, "is_chosen": each["id"] in chosen}
        for each in choices
        if each["id"] != str(found.id)
    ]


def mark_submitted_parts(choices: list[TemplateContext], sent: Mapping[str, str]) -> list[TemplateContext]:
    """Marked as a form that was refused had them."""
    if "first" not in sent:
        return choices
    return [
        {**each, "is_first": each["id"] == sent["first"], "is_chosen": f"part-{each['id']}" in sent} for each in choices
    ]


def apply_submitted_settings(shown: Json, sent: Mapping[str, str]) -> Json:
    """The list with what a form that was refused said of it."""
    names = ("replies", "operation") if shown["operation"] else ("replies",)
    said: Json = {name: sent[name] for name in names if name in sent}
    if "exclusive" in sent:
        said["exclusive"] = sent["exclusive"] == "1"
    return {**shown, **said}


def parse_list_cursor(query: QueryDict) -> ListId | None:
    """`?cursor=` of the page of lists. Raises Malformed."""
    text = query.get("cursor")
    if text is None:
        return None
    number = parse_id(text)
    if number is None:
        raise _cursor_error()
    return ListId(number)


@dataclass(frozen=True, slots=True)
class ListForm:
    """A list as it was sent; None where a field was not. ListService checks what they say.

    `parts` are ids in one text, or by form the `first` one and a field `part-<id>` for each other.
    """

    title: str | None
    replies: str | None
    exclusive: bool | None
    operation: str | None
    parts: tuple[ListId, ...] | None

    @classmethod
    def parse(cls, fields: Mapping[str, str]) -> "ListForm":
        """Raises ListInvalid."""
        exclusive = fields.get("exclusive")
        return cls(
            fields.get("title"),
            fields.get("replies"),
            None if exclusive is None else exclusive not in ("", "0", "false"),
            fields.get("operation") or None,
            _parse_parts(fields),
        )

    @property
    def is_empty(self) -> bool:
        return (self.title, self.replies, self.exclusive, self.operation, self.parts) == (None,) * 5


def _parse_parts(fields: Mapping[str, str]) -> tuple[ListId, ...] | None:
    """The lists that one is to be made of, the first one first. Raises ListInvalid."""
    if "parts" in fields:
        texts = re.split(r"[\s,]+", fields["parts"].strip())
    elif "first" in fields:
        others = [name.removeprefix("part-") for name in fields if name.startswith("part-")]
        texts = [fields["first"], *(other for other in others if other != fields["first"])]
    else:
        return None
    ids = [parse_id(text) for text in texts]
    known = tuple(ListId(id) for id in ids if id is not None)
    if len(known) < len(ids):
        raise ListInvalid({"parts": _("This list does not exist.")})
    return known
