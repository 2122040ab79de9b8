"""Forms of lists: the submitted fields, and the fields that are shown again after an error."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from socialsite.ids import parse_id
from timelines.errors import ListInvalid
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.pages.presenters import Json
from timelines.pages.responses import TemplateContext


def mark_current_parts(choices: list[TemplateContext], found: AccountList) -> list[TemplateContext]:
    first, chosen = str(found.parts[0]) if found.parts else "", set(map(str, found.parts[1:]))
    return [
        {**each, "is_first": each["id"] == first, "is_chosen": each["id"] in chosen}
        for each in choices
        if each["id"] != str(found.id)
    ]


def mark_submitted_parts(choices: list[TemplateContext], form_data: Mapping[str, str]) -> list[TemplateContext]:
    """Return the choices with marks on the submitted parts."""
    if "first" not in form_data:
        return choices
    return [
        {**each, "is_first": each["id"] == form_data["first"], "is_chosen": f"part-{each['id']}" in form_data}
        for each in choices
    ]


def apply_submitted_settings(shown: Json, form_data: Mapping[str, str]) -> Json:
    names = ("replies", "operation") if shown["operation"] else ("replies", "description")
    submitted: Json = {name: form_data[name] for name in names if name in form_data}
    for name in ("exclusive", "public"):
        if name in form_data:
            submitted[name] = form_data[name] == "1"
    return {**shown, **submitted}


@dataclass(frozen=True, slots=True)
class ListForm:
    """The submitted fields of a list. A missing field is None. ListService validates the values.

    A JSON client submits `parts` as ids in one text. An HTML form submits the field `first`, and a field `part-<id>`
    for each other part.
    """

    title: str | None
    replies: str | None
    exclusive: bool | None
    operation: str | None
    parts: tuple[ListId, ...] | None
    description: str | None
    public: bool | None

    @classmethod
    def parse(cls, fields: Mapping[str, str]) -> "ListForm":
        """Parse the fields. Raises ListInvalid."""
        return cls(
            fields.get("title"),
            fields.get("replies"),
            _parse_flag(fields, "exclusive"),
            fields.get("operation") or None,
            _parse_parts(fields),
            fields.get("description"),
            _parse_flag(fields, "public"),
        )

    @property
    def is_empty(self) -> bool:
        values = self.title, self.replies, self.exclusive, self.operation, self.parts, self.description, self.public
        return values == (None,) * len(values)


def _parse_flag(fields: Mapping[str, str], name: str) -> bool | None:
    value = fields.get(name)
    return None if value is None else value not in ("", "0", "false")


def _parse_parts(fields: Mapping[str, str]) -> tuple[ListId, ...] | None:
    """Parse the ids of the parts in their order. Raises ListInvalid."""
    if "parts" in fields:
        texts = re.split(r"[\s,]+", fields["parts"].strip())
    elif "first" in fields:
        others = [name.removeprefix("part-") for name in fields if name.startswith("part-")]
        texts = [fields["first"], *(other for other in others if other != fields["first"])]
    else:
        return None
    ids = [parse_id(text) for text in texts]
    part_ids = tuple(ListId(id) for id in ids if id is not None)
    if len(part_ids) < len(ids):
        raise ListInvalid({"parts": _("This list does not exist.")})
    return part_ids
