"""The form fields of a picture. Their names are Mastodon's."""

import math
from collections.abc import Mapping
from typing import cast

from django.utils.translation import gettext_lazy as _

from socialsite.ids import parse_id
from socialsite.web.requests import FormFields
from timelines.errors import MediaInvalid
from timelines.media.media import Crop, MediaChange, MediaKind

KINDS = ("picture", "avatar", "header")


def parse_focus(fields: Mapping[str, str]) -> tuple[float, float] | None:
    """Return the focal point "x,y", each from -1.0 to 1.0, or None if it is absent. Raises MediaInvalid."""
    numbers = _parse_numbers(fields, "focus", 2, -1.0)
    return None if numbers is None else (numbers[0], numbers[1])


def parse_media_changes(fields: FormFields) -> dict[int, MediaChange]:
    """Return the change of each picture in `media_attributes[][...]`: `id`, `description` and `focus`. Raises
    MediaInvalid.

    Each picture has the same fields, in the same order. The form of a page has `focus_x` and `focus_y` for `focus`.
    """
    ids, alts, focuses, xs, ys = (
        fields.values_of(f"media_attributes[][{name}]") for name in ("id", "description", "focus", "focus_x", "focus_y")
    )
    focuses = focuses or [f"{x},{y}" for x, y in zip(xs, ys, strict=False)]
    if any(values and len(values) != len(ids) for values in (alts, focuses)):
        raise MediaInvalid({"media_attributes": _("Each picture must have the same fields.")})
    return {
        media_id: MediaChange(alts[at] if alts else None, parse_focus({"focus": focuses[at]}) if focuses else None)
        for at, media_id in enumerate(map(parse_id, ids))
        if media_id is not None
    }


def parse_crop(fields: Mapping[str, str]) -> Crop | None:
    """Return the part "left,top,width,height", each from 0.0 to 1.0, or None if it is absent. Raises MediaInvalid."""
    numbers = _parse_numbers(fields, "crop", 4, 0.0)
    return None if numbers is None else cast(Crop, numbers)


def parse_kind(fields: Mapping[str, str]) -> MediaKind:
    """Return the kind of the picture. Raises MediaInvalid."""
    kind = fields.get("kind") or "picture"
    if kind not in KINDS:
        raise MediaInvalid({"kind": _("This must be one of: picture, avatar, header.")})
    return cast(MediaKind, kind)


def _parse_numbers(fields: Mapping[str, str], name: str, count: int, lowest: float) -> tuple[float, ...] | None:
    text = fields.get(name, "").strip()
    if not text:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(math.isfinite(each) and lowest <= each <= 1.0 for each in numbers):
        raise MediaInvalid({name: _("These must be numbers within the picture, separated by commas.")})
    return numbers
