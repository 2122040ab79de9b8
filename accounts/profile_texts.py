"""The texts of a profile. accounts/models.py declares them, and whatever depends on them reads `PROFILE_TEXTS`.

Each reader has a branch for each kind, and `assert_never` behind them: a new kind is a type error until all handle it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from django.db import models

from socialsite.errors import LazyText

TextKind = Literal["name", "text", "link", "moved"]
"""The name, a text of some lines, a link, and the address of a new profile."""
LINK_FIELD = "Link"
"""The name that the link of an account has where other sites have fields."""

if TYPE_CHECKING:
    TextField = models.TextField[str, str]
else:
    TextField = models.TextField


class ProfileText(TextField):
    """A text of a profile that its owner writes and others read.

    Its name is that of the stored field, of the input of forms and of the own JSON. `api_name` is its field in the
    client API and `activity_name` its property of ActivityPub's Person; "" if these have it elsewhere. The limit is in
    graphemes, that of a link in code points.
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

    def contribute_to_class(self, cls: type[models.Model], name: str, private_only: bool = False) -> None:
        super().contribute_to_class(cls, name, private_only)
        PROFILE_TEXTS[name] = self


PROFILE_TEXTS: Final[dict[str, ProfileText]] = {}
"""All texts of a profile by their names, in the order of forms and pages."""
