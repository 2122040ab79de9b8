"""A short text that is declared in FIELDS reaches each reader of the fields, and an undeclared one is refused.

A process of its own imports post.py with one more field, `place`, and asks the readers for it.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SOURCE = Path("timelines/posts/post.py")
ATTRIBUTE = '    place: str = ""\n'
DECLARATION = """ShortText(
    "place", ("place",), "Place", icon="globe", activity_name="placeName", max_graphemes=60, hint="Where?"
),
"""
BEFORE_ATTRIBUTE, BEFORE_DECLARATION = "\n\nNO_DETAILS: Final", '    PostField("is_folded"'
PLACE = "Lisbon & casino"
SHOWN = "Lisbon &amp; casino"


def import_post(attribute: str = ATTRIBUTE, declaration: str = DECLARATION) -> None:
    """Import post.py with these lines added to PostDetails and to FIELDS."""
    source = SOURCE.read_text(encoding="utf-8")
    for mark, lines in ((BEFORE_ATTRIBUTE, attribute), (BEFORE_DECLARATION, declaration)):
        assert source.count(mark) == 1, mark
        source = source.replace(mark, lines + mark)
    module = sys.modules["timelines.posts.post"] = ModuleType("timelines.posts.post")
    exec(compile(source, SOURCE, "exec"), module.__dict__)


def run(lines: str) -> "subprocess.CompletedProcess[str]":
    """Run lines of Python in a process in which post.py is not imported yet."""
    program = f"from tests.unit.timelines.test_post_fields import *\n{lines}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


class Readers:
    """What each reader makes of a post with a place. Each method raises AssertionError if the place is missing."""

    def __init__(self) -> None:
        from accounts.domain import Author
        from timelines.pages.page import HydratedPost
        from timelines.posts.post import Post, PostCounts, PostDetails

        self.author: Any = Author(9, "alice", "Alice", "active", 1)  # type: ignore[arg-type]
        fields: dict[str, Any] = {"place": PLACE, "version": 1, "edited_ms": 1}
        self.details: Any = PostDetails(**fields)
        self.post: Any = Post(2**40, 9, "hello", details=self.details)  # type: ignore[arg-type]
        self.bare: Any = Post(2**40, 9, "hello")  # type: ignore[arg-type]
        self.entry = HydratedPost(self.post, self.author, PostCounts(), None)
        self.boost = HydratedPost(Post(2**41, 9, "", boost_of=2**40), self.author, PostCounts(), None, self.entry)  # type: ignore[arg-type]

    def form(self) -> Any:
        from socialsite.web.requests import FormFields
        from timelines.publishing.forms import PostForm

        return PostForm.parse(FormFields([("text", "hello"), ("place", PLACE)]))

    def check_form(self) -> None:
        assert self.form().details.place == PLACE

    def check_draft(self) -> None:
        from timelines.drafts.draft import Draft

        draft = Draft(1, self.form().content)
        assert PLACE in draft.texts  # staff sees the texts of held posts
        assert not Draft(1, (("place", PLACE),)).is_empty

    def check_cleaning(self) -> None:
        from timelines.errors import PostInvalid
        from timelines.publishing.service import PublishingService

        service: Any = object.__new__(PublishingService)
        service.post_max_length, service.blocked = 500, self.blocked()
        assert service.validate_content("x" * 500, self.replaced(" Lisbon\n"))[1].place == "Lisbon"
        with pytest.raises(PostInvalid) as refused:
            service.validate_content("hello", self.replaced("x" * 61))
        assert refused.value.fields == {"place": "This text is too long."}

    def replaced(self, place: str) -> Any:
        from msgspec import structs

        return structs.replace(self.details, place=place)

    def blocked(self, *words: str) -> Any:
        from socialsite.site.settings import SiteSettings
        from timelines.publishing.blocked_content import BlockedContent

        return BlockedContent(site=SimpleNamespace(settings=SiteSettings(blocked_words=words)))  # type: ignore[arg-type]

    def check_blocked_words(self) -> None:
        from timelines.errors import PostInvalid

        with pytest.raises(PostInvalid) as refused:
            self.blocked("casino").check_post("hello", self.details)
        assert list(refused.value.fields) == ["place"]

    def check_held_links(self) -> None:
        from timelines.posts.post import TEXT_FORM_NAMES

        assert "place" in TEXT_FORM_NAMES

    def check_filters_and_search(self) -> None:
        from timelines.search.repository import post_digests
        from timelines.visibility.filter import KeywordFilter, find_filters

        assert find_filters([KeywordFilter(1, "lisbon")], self.post.searchable_text, 0)
        assert len(post_digests(self.post)) > len(post_digests(self.bare))

    def check_edit(self) -> None:
        from socialsite.web.requests import FormFields
        from timelines.publishing.edits import next_version
        from timelines.publishing.forms import EditForm

        kept = EditForm.parse(FormFields([("text", "new")]), self.post)
        emptied = EditForm.parse(FormFields([("place", "")]), self.post)
        assert (kept.details.place, emptied.details.place) == (PLACE, "")
        version = next_version(self.post, "hello", emptied.details, 2)
        assert version is not None
        assert version.extra.place == ""  # type: ignore[attr-defined]

    def check_edit_of_an_api_client(self) -> None:
        from timelines.api.statuses import CONTENT_NAMES

        assert "place" in CONTENT_NAMES

    def check_redraft(self) -> None:
        from timelines.publishing.forms import redraft_fields

        assert redraft_fields(self.post)["place"] == PLACE

    def check_notification_of_edits(self) -> None:
        from timelines.reactions.edit_notifications import _is_rewritten

        assert _is_rewritten(self.bare, self.post)

    def check_history(self) -> None:
        from timelines.publishing.version_diff import _changes

        assert [(row.label, "Lisbon" in row.html) for row in _changes(self.bare, self.post)] == [
            ("Place", True), ("", False),
        ]  # fmt: skip

    def check_composer(self) -> None:
        from django.template.loader import render_to_string

        from accounts.domain import Preferences
        from timelines.publishing.composer import composer_context

        composer = composer_context(Preferences(), fields={"place": PLACE})["short_texts"].value
        assert f'name="place" value="{SHOWN}"' in composer
        context = {"composer": composer_context(Preferences())}
        assert 'name="place" value=""' in render_to_string("timelines/_composer.html", context)

    def check_json(self) -> None:
        from timelines.pages.presenters import post_json, version_json

        answers = (post_json(self.entry), post_json(self.boost), version_json(self.post, self.author))
        assert [each["place"] for each in answers] == [PLACE] * 3

    def check_api(self) -> None:
        from timelines.api.entities.status import scheduled_entity, short_texts_json, status_fields, version_entity
        from timelines.drafts.draft import Draft

        site, form = "https://example.org", self.form()
        scheduled = scheduled_entity(Draft(1, form.content), form, [])["params"]
        answers = (status_fields(self.boost, (), site), version_entity(self.post, self.author, site), scheduled)
        assert [each["place"] for each in (*answers, short_texts_json(self.details))] == [PLACE] * 4

    def check_html(self) -> None:
        from timelines.pages.page import Quote
        from timelines.pages.presenters import entry_html, quote_html

        assert SHOWN in entry_html(self.entry, "en")
        assert SHOWN in entry_html(self.boost, "en")
        assert SHOWN in quote_html(Quote("accepted", self.entry), "en")

    def check_feed(self) -> None:
        from timelines.feeds.atom import render_hashtag_feed

        assert b"Lisbon" in render_hashtag_feed("https://example.org", "Example", "tea", [self.entry])

    def check_pages_for_staff(self) -> None:
        from django.template.loader import get_template, render_to_string

        assert SHOWN in render_to_string("admin/_account_seen.html", {"account": self.author, "posts": [self.post]})
        assert "post.short_texts" in get_template("admin/report.html").template.source  # type: ignore[attr-defined]

    def check_export_and_import(self) -> None:
        from django.template.loader import render_to_string

        from timelines.exporting.activities import ActivityBuilder
        from timelines.importing.mastodon_rows import parse_activity
        from timelines.importing.rows import RowRules

        builder = ActivityBuilder("https://example.org", self.author, {})
        activity = builder.activity([self.post], {})
        assert activity["object"]["placeName"] == PLACE
        row = {**parse_activity("https://example.org", activity), "author": "alice"}
        imported = RowRules(500, 2**60).parse(1, json.dumps(row).encode())
        assert imported.newest.details.place == PLACE  # type: ignore[attr-defined]
        page = {"account": self.author, "month": "2026-11", "posts": [{"versions": [(self.post, []), (self.post, [])]}]}
        assert render_to_string("export/posts.html", page).count(SHOWN) == 2


NAMES = [name for name in vars(Readers) if name.startswith("check_")]


def ask_readers() -> None:
    """Print the error of each reader as JSON, or an empty text."""
    import_post()
    import django

    django.setup()
    readers, errors = Readers(), {}
    for name in NAMES:
        read: Callable[[], None] = getattr(readers, name)
        try:
            read()
            errors[name] = ""
        except Exception as error:  # noqa: BLE001 - each reader is asked
            errors[name] = repr(error)
    sys.stdout.write(json.dumps(errors))


@pytest.fixture(scope="module")
def errors() -> Any:
    asked = run("ask_readers()")
    assert not asked.returncode, asked.stderr
    return json.loads(asked.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_a_declared_text_reaches_each_reader(name: str, errors: dict[str, str]) -> None:
    assert not errors[name]


@pytest.mark.parametrize(
    ("attribute", "declaration"),
    [
        (ATTRIBUTE, ""),
        ("", DECLARATION),
        (ATTRIBUTE, 'PostField("place", ("place",)),\n'),
        ("    stars: int = 0\n", ""),
    ],
)
def test_a_field_without_its_declaration_is_refused_at_the_start(attribute: str, declaration: str) -> None:
    refused = run(f"import_post({attribute!r}, {declaration!r})")
    assert "TypeError: FIELDS does not declare these fields as PostDetails has them" in refused.stderr
