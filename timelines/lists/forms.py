"""The fields of a list's forms: as the list has them, or as they were sent and refused."""

from collections.abc import Mapping

from timelines.lists.account_list import AccountList
from timelines.pages.presenters import Json
from timelines.pages.responses import Page


def marked(choices: list[Page], found: AccountList) -> list[Page]:
    """The lists that this one may be made of, and whether it is."""
    first, chosen = str(found.parts[0]) if found.parts else "", set(map(str, found.parts[1:]))
    return [
        {**each, "is_first": each["id"] == first, "is_chosen": each["id"] in chosen}
        for each in choices
        if each["id"] != str(found.id)
    ]


def sent_choices(choices: list[Page], sent: Mapping[str, str]) -> list[Page]:
    """Marked as a form that was refused had them."""
    if "first" not in sent:
        return choices
    return [
        {**each, "is_first": each["id"] == sent["first"], "is_chosen": f"part-{each['id']}" in sent}
        for each in choices
    ]


def sent_settings(shown: Json, sent: Mapping[str, str]) -> Json:
    """The list with what a form that was refused said of it."""
    names = ("replies", "operation") if shown["operation"] else ("replies",)
    said: Json = {name: sent[name] for name in names if name in sent}
    if "exclusive" in sent:
        said["exclusive"] = sent["exclusive"] == "1"
    return {**shown, **said}
