"""The fields of the form of a post are parsed, and invalid values are refused with their field."""

import pytest

from socialsite.web.requests import FormFields
from timelines.errors import PostInvalid
from timelines.posts.post import FOLLOWERS, NO_DETAILS, PUBLIC, UNLISTED, PostDetails
from timelines.publishing.forms import PostForm


def parse(text: str = "x", **fields: str) -> PostForm:
    return PostForm.parse(FormFields([("text", text), *fields.items()]))


def test_a_form_of_text_alone_has_no_details() -> None:
    assert parse(text="hello", spoiler_text="", sensitive="", language="").details is NO_DETAILS


def test_the_details_are_parsed() -> None:
    form = parse(spoiler_text="Spiders", sensitive="on", language="pt-BR")
    assert form.details == PostDetails("Spiders", sensitive=True, language="pt")


@pytest.mark.parametrize(
    ("fields", "audience"),
    [
        ({}, None), ({"visibility": "public"}, PUBLIC), ({"visibility": "unlisted"}, UNLISTED),
        ({"visibility": "private"}, FOLLOWERS), ({"audience": "followers"}, FOLLOWERS),
        ({"audience": "unlisted", "visibility": "public"}, UNLISTED),
    ],
)  # fmt: skip
def test_both_names_of_the_audience_are_parsed(fields: dict[str, str], audience: int | None) -> None:
    assert parse(**fields).audience == audience


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("audience", "private"), ("visibility", "direct"), ("sensitive", "perhaps"),
        ("language", "deutsch"), ("language", "d1"), ("language", "ßß"),
    ],
)  # fmt: skip
def test_an_invalid_value_is_refused_with_its_field(field: str, value: str) -> None:
    with pytest.raises(PostInvalid) as refused:
        parse(**{field: value})
    assert list(refused.value.fields) == [field]
