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
NOT_NUMBERS = _("These must be numbers within the picture, separated by commas.")
PICTURES, PICTURE_NAMES = "media_attributes", ("id", "description", "focus")


def parse_focus(fields: Mapping[str, str]) -> tuple[float, float] | None:
    """Return the focal point "x,y", each clamped to -1.0..1.0, or None if it is absent. Raises MediaInvalid.

    Apps round beyond the edge, divide by the size of a view that is not shown yet, and write "0,5,-0,25" in languages
    with a decimal comma.
    """
    text = fields.get("focus", "")
    if text.count(",") == 3:
        text = "{}.{},{}.{}".format(*text.split(","))
    numbers = _parse_numbers({"focus": text}, "focus", 2)
    if numbers is None:
        return None
    x, y = (max(-1.0, min(1.0, 0.0 if math.isnan(each) else each)) for each in numbers)
    return x, y


def parse_media_changes(fields: FormFields) -> dict[int, MediaChange]:
    """Return the change of each picture, of objects `media_attributes[0][…]` or columns `media_attributes[][…]`.

    The names are `id`, `description` and `focus`. Objects need not have the same ones; columns have the same length.
    The form of a page has `focus_x` and `focus_y` for `focus`. Raises MediaInvalid.
    """
    objects = [] if f"{PICTURES}[][id]" in fields else fields.objects_of(PICTURES)
    columns = {name: fields.values_of(f"{PICTURES}[][{name}]") for name in (*PICTURE_NAMES, "focus_x", "focus_y")}
    ids = columns["id"]
    if any(values and len(values) != len(ids) for values in columns.values()):
        raise MediaInvalid({PICTURES: _("Each picture must have the same fields.")})
    objects += [{name: values[at] for name, values in columns.items() if values} for at in range(len(ids))]
    return {
        media_id: MediaChange(each.get("description"), parse_focus({"focus": _focus_of(each)}))
        for each in objects
        if (media_id := parse_id(each.get("id", ""))) is not None
    }


def _focus_of(picture: Mapping[str, str]) -> str:
    point = f"{picture['focus_x']},{picture['focus_y']}" if {"focus_x", "focus_y"} <= picture.keys() else ""
    return picture.get("focus", point)


def parse_crop(fields: Mapping[str, str]) -> Crop | None:
    """Return the part "left,top,width,height", each from 0.0 to 1.0, or None if it is absent. Raises MediaInvalid."""
    numbers = _parse_numbers(fields, "crop", 4)
    if numbers is not None and not all(0.0 <= each <= 1.0 for each in numbers):
        raise MediaInvalid({"crop": NOT_NUMBERS})
    return None if numbers is None else cast(Crop, numbers)


def parse_kind(fields: Mapping[str, str]) -> MediaKind:
    """Return the kind of the picture. Raises MediaInvalid."""
    kind = fields.get("kind") or "picture"
    if kind not in KINDS:
        raise MediaInvalid({"kind": _("This must be one of: picture, avatar, header.")})
    return cast(MediaKind, kind)


def _parse_numbers(fields: Mapping[str, str], name: str, count: int) -> tuple[float, ...] | None:
    text = fields.get(name, "").strip()
    if not text:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count:
        raise MediaInvalid({name: NOT_NUMBERS})
    return numbers
