"""The texts of a profile. accounts/models.py declares them, and whatever depends on them reads `PROFILE_TEXTS`.

Each reader has a branch for each kind, and `assert_never` behind them: a new kind is a type error until all handle it.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from django.db import models

from socialsite.errors import LazyText

TextKind = Literal["name", "text", "link", "moved", "fields"]
"""The name, a text of some lines, a link, the address of a new profile, and pairs of a label and a text."""
FIELDS_CAP = 4
FIELD_INPUTS: Final = [(f"field_name_{number}", f"field_value_{number}") for number in range(1, FIELDS_CAP + 1)]
"""The inputs of the label and of the text of each field."""
LINK_FIELD = "Link"
"""The name that the link of an account has where other sites have fields."""


class ProfileField(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A label and a text of one line. New fields are added at the end."""

    name: str = ""
    value: str = ""
    verified_ms: int = 0
    """The time at which the page of the value, which is a link, linked back to the profile, or 0."""
    checked_ms: int = 0
    """The time of the last check of the link, or 0."""


def encode_fields(fields: Iterable[ProfileField]) -> str:
    """Return the stored form: a JSON array without empty fields at its end, or "" if all are empty."""
    rows = list(fields)
    while rows and not (rows[-1].name or rows[-1].value):
        rows.pop()
    return msgspec.json.encode(rows).decode() if rows else ""


@lru_cache(maxsize=4_096)
def decode_fields(stored: str) -> tuple[ProfileField, ...]:
    """Return the stored fields. Empty fields keep the others in their rows of the form."""
    return msgspec.json.decode(stored, type=tuple[ProfileField, ...]) if stored else ()


def keep_checks(stored: str, former: str) -> str:
    """Return the stored fields with the results of the checks of the former fields with the same value."""
    former_fields = {field.value: field for field in decode_fields(former)}
    return encode_fields(
        ProfileField(
            field.name, field.value, former_fields[field.value].verified_ms, former_fields[field.value].checked_ms
        )
        if field.value in former_fields
        else field
        for field in decode_fields(stored)
    )


if TYPE_CHECKING:
    TextField = models.TextField[str, str]
else:
    TextField = models.TextField


class ProfileText(TextField):
    """A text of a profile that its owner writes and others read.

    The stored field, the input of forms and the own JSON have its name. `api_name` is its field in the client API, if
    the name differs there, and `activity_name` its property of ActivityPub's Person. The limit is in graphemes, the
    limit of a link in code points.
    """

    def __init__(
        self,
        label: LazyText,
        kind: TextKind,
        *,
        limit: int,
        errors: Mapping[str, LazyText],
        hint: LazyText = "",
        rows: int = 0,
        api_name: str = "",
        activity_name: str = "",
    ) -> None:
        super().__init__(blank=True, default="")
        self.label, self.kind, self.limit, self.hint, self.rows = label, kind, limit, hint, rows
        self.errors = errors
        self.api_name, self.activity_name = api_name, activity_name

    def split(self, stored: str) -> dict[str, str]:
        """Return the texts that people write and read, by the names of their inputs."""
        if self.kind != "fields":
            return {self.name: stored}
        fields = [*decode_fields(stored), *[ProfileField()] * FIELDS_CAP]
        pairs = zip(FIELD_INPUTS, fields, strict=False)
        return {
            name: text for names, field in pairs for name, text in zip(names, (field.name, field.value), strict=True)
        }

    def lines(self, stored: str) -> list[tuple[LazyText, str]]:
        """Return the labels and texts that staff and the archive show."""
        if self.kind != "fields":
            return [(self.label, stored)] if stored else []
        return [(field.name, field.value) for field in decode_fields(stored) if field.value]

    def join(self, texts: Mapping[str, str]) -> str:
        """Return the stored text for the values of its inputs, uncleaned. `texts` may contain more inputs."""
        if self.kind != "fields":
            return texts[self.name]
        return encode_fields(ProfileField(texts[name], texts[value]) for name, value in FIELD_INPUTS)

    def contribute_to_class(self, cls: type[models.Model], name: str, private_only: bool = False) -> None:
        super().contribute_to_class(cls, name, private_only)
        PROFILE_TEXTS[name] = self


PROFILE_TEXTS: Final[dict[str, ProfileText]] = {}
"""All texts of a profile by their names, in the order of forms and pages."""


def split_texts(stored: Mapping[str, str]) -> dict[str, str]:
    """Split stored texts, given by their names, into the texts of their inputs."""
    return {input: part for name, text in stored.items() for input, part in PROFILE_TEXTS[name].split(text).items()}
