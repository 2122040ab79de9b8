"""Template files: rules of browsers, translators and the content security policy, without a server."""

import re
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from accounts.domain import Author
from socialsite.ids import AccountId, id_at
from timelines.notifications.kinds import KINDS
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import author_json, entry_html
from timelines.posts.post import Post, PostCounts
from timelines.templatetags.timelines_tags import avatar, hue, initial, iso, ms_datetime, number

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*.html") if path.parent.name != "mail")
SCRIPTS = sorted((ROOT / "static/js").glob("*.js"))
LATER_SCRIPTS = ("adopt", "card", "layers", "pictures", "picture_parts", "viewer")
"""The modules that a page loads when a reader first needs them."""
WRITING_SCRIPTS = ("emoji", "further", "take_back")
"""The modules that a composer loads when a writer first needs them."""
FORM_SCRIPTS = ("crop", "forms", "passkeys", "published", "recent", "reveal")
"""The modules that only some pages with forms load, and the page after the form of a post."""
PAGE_SCRIPTS = ("progress", "push_switch")
"""The modules of pages that show the progress of work, and of the page of a device."""


def entry(display_name: str = "Ada", text: str = "hello") -> str:
    author = Author(AccountId(7), "ada", display_name, "active", 1)
    post = Post(id_at(1_795_187_640_123, 12), author.id, text)
    return entry_html(HydratedPost(post, author, PostCounts(), None))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_lists_its_parameters(template: Path) -> None:
    assert re.search(r"{% comment %}.*\b[Tt]akes\b.*{% endcomment %}", template.read_text(), re.DOTALL)


SERVED_TEMPLATES = [path for path in TEMPLATES if path.parent.name != "export"]
"""The pages of an archive are opened from a folder, and state a policy of their own."""


@pytest.mark.parametrize("template", SERVED_TEMPLATES, ids=lambda path: path.stem)
def test_no_template_needs_more_than_the_content_security_policy_grants(template: Path) -> None:
    text = template.read_text()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))


def test_a_tab_of_a_profile_says_that_older_posts_were_not_read() -> None:
    timeline = {"name": "profile:alice", "is_selection": True, "next_url": "/@alice/?before=7&tab=media", "live": False}
    assert "Older posts were not searched yet." in render_to_string("timelines/_empty.html", {"timeline": timeline})


def test_every_icon_is_in_the_sprite() -> None:
    used_icons = {name for path in TEMPLATES for name in re.findall(r'{% icon "([^"]+)" %}', path.read_text())}
    used_icons |= {kind.icon for kind in KINDS.values()}
    drawn = set(re.findall(r'<symbol id="([^"]+)"', (ROOT / "static/icons.svg").read_text()))
    assert used_icons <= drawn


def sheets(template: Path) -> set[str]:
    """Return the style sheets of a page, including those of the templates that it extends."""
    text = template.read_text()
    above = re.search(r'{% extends "([^"]+)" %}', text)
    named = set(re.findall(r'{% static "(css/[^"]+)" %}', text))
    return named | (sheets(ROOT / "templates" / above[1]) if above else set())


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_the_style_sheets_of_a_page_stay_small(template: Path) -> None:
    loaded = sheets(template)
    limit = 46_000 if template.parent.name == "admin" else 40_000  # staff pages also load the sheet of forms
    limit += 8_000 * ("css/composer.css" in loaded) + 2_000 * ("css/picture_field.css" in loaded)
    assert sum((ROOT / "static" / name).stat().st_size for name in loaded) <= limit


def test_every_style_sheet_belongs_to_a_page() -> None:
    loaded = set().union(*(sheets(template) for template in TEMPLATES))
    assert loaded == {f"css/{path.name}" for path in (ROOT / "static/css").iterdir()}


def test_the_scripts_stay_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in SCRIPTS}
    parts = (LATER_SCRIPTS, WRITING_SCRIPTS, FORM_SCRIPTS, PAGE_SCRIPTS)
    later, writing, forms, pages = (sum(map(sizes.__getitem__, names)) for names in parts)
    assert later <= 25_000
    assert writing <= 8_000
    assert forms <= 18_000
    assert pages <= 3_000
    assert sum(sizes.values()) - later - writing - forms - pages <= 100_000


def test_the_page_contains_every_word_that_a_script_displays() -> None:
    text = render_to_string("_words.html")
    page_words = {re.sub("-([a-z])", lambda m: m[1].upper(), name) for name in re.findall(r"data-([a-z0-9-]+)=", text)}
    for script in SCRIPTS:
        source = script.read_text()
        counted = set(re.findall(r'\bword\("(\w+)", ', source))
        plain = set(re.findall(r'\bword\("(\w+)"\)', source))
        assert plain | {f"{name}-{form}" for name in counted for form in (0, 1)} <= page_words, script.name


def test_an_entry_has_the_attributes_of_clients() -> None:
    html = entry()
    assert re.search(r'<article class="post" data-post-id="[0-9]+" data-author="ada"', html)
    assert '<div class="post-text" dir="auto">hello</div>' in html
    assert '<time datetime="2026-11-20T15:14:00.123Z">20 Nov 2026, 15:14 UTC</time>' in html


def test_a_display_name_is_escaped() -> None:
    html = entry(display_name="<b onclick=x>")
    assert "<b onclick" not in html
    assert "&lt;b onclick=x&gt;" in html


@pytest.mark.parametrize("status", [500, 503])
def test_the_error_pages_render_without_context(status: int) -> None:
    assert "<h1>" in render_to_string(f"errors/{status}.html")


def test_pages_are_german_for_german_readers() -> None:
    with translation.override("de"):
        assert "Beitrag gelöscht." in render_to_string("_words.html")


@pytest.mark.parametrize(
    ("language", "samples", "texts"),
    [
        ("en", "0 1", {1: "1 new post", 0: "{n} new posts"}),
        ("de", "0 1", {1: "1 neuer Beitrag", 0: "{n} neue Beiträge"}),
        ("ja", "0", {0: "新しい投稿{n}件"}),
        (
            "ar",
            "0 1 2 3 11 100",
            {2: "منشوران جديدان", 3: "{n} منشورات جديدة", 11: "{n} منشورًا جديدًا", 100: "{n} منشور جديد"},
        ),
    ],
)
def test_texts_of_scripts_have_each_plural_form_of_the_language(
    language: str, samples: str, texts: dict[int, str]
) -> None:
    with translation.override(language):
        html = render_to_string("_words.html")
    assert f'data-plurals="{samples}"' in html
    for sample, text in texts.items():
        assert f'data-new-{sample}="{text}"' in html


PHYSICAL = re.compile(
    r"(?:margin|padding|border)-(?:left|right)|border-(?:top|bottom)-(?:left|right)-radius"
    r"|(?<![\w-])(?:left|right)\s*:|(?:text-align|float|clear)\s*:\s*(?:left|right)"
)
"""Declarations that name a side of the screen, which is the other side of the text in right-to-left languages."""


FOUR_SIDES = re.compile(r"(?:margin|padding|inset):\s*([^;{}]+)")
CSS_VALUE = re.compile(r"(?:[^\s()]|\((?:[^()]|\([^()]*\))*\))+")


def physical_declarations(css: str) -> list[str]:
    """Return declarations with a name of a side, or with four values of which the right and the left one differ."""
    found = [match[0] for match in PHYSICAL.finditer(css)]
    for match in FOUR_SIDES.finditer(css):
        values = CSS_VALUE.findall(match[1])
        if len(values) == 4 and values[1] != values[3]:
            found.append(match[0])
    return found


@pytest.mark.parametrize("sheet", sorted((ROOT / "static/css").glob("*.css")), ids=lambda path: path.stem)
def test_style_sheets_name_the_start_and_the_end_of_a_line_instead_of_left_and_right(sheet: Path) -> None:
    assert physical_declarations(sheet.read_text()) == []


def test_the_rule_about_sides_finds_each_kind() -> None:
    sample = "a { margin-left: 1px; right: 0; text-align: left; border-top-left-radius: 2px; padding: 0 1px 0 2px; }"
    assert len(physical_declarations(sample)) == 5
    assert physical_declarations(".to-left { inset: 0; margin: 0 1px 2px 1px }") == []


SHOWN_HANDLE = re.compile(r"@{{ [\w.]*handle }}")
TRANSLATED = re.compile(
    "{% blocktrans.*?{% endblocktrans %}|<title>.*?</title>|{% comment %}.*?{% endcomment %}", re.DOTALL
)


def bare_handles(html: str) -> list[str]:
    """Return the handles outside attributes, translated texts and `<bdi>`. From right to left, @ would follow them."""
    text = TRANSLATED.sub("", html)
    starts = [match.start() for match in SHOWN_HANDLE.finditer(text)]
    shown = [start for start in starts if text.rfind(">", 0, start) > text.rfind("<", 0, start)]
    return [text[start : start + 40] for start in shown if not re.search("<bdi[^<>]*>$", text[:start])]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_handles_keep_their_direction(template: Path) -> None:
    assert bare_handles(template.read_text()) == []


def test_a_bare_handle_is_found() -> None:
    assert len(bare_handles('<a href="/@{{ handle }}/">@{{ a.handle }}</a> <bdi class="x">@{{ handle }}</bdi>')) == 1


def test_every_document_states_the_direction_of_its_language() -> None:
    for path in [*TEMPLATES, ROOT / "templates/mail/mail.html"]:
        for tag in re.findall(r"<html.*", path.read_text()):
            assert " lang=" in tag, path
            assert " dir=" in tag, path


def test_an_avatar_has_a_stable_colour_and_a_whole_first_grapheme() -> None:
    assert hue(25) == hue("25") == 1
    assert initial("élan") == initial("e\u0301lan").replace("E\u0301", "É") == "É"
    assert initial("👩‍👩‍👧‍👦 family") == "👩‍👩‍👧‍👦"
    assert initial("  ") == "?"


def test_numbers_are_grouped_by_the_readers_locale() -> None:
    with translation.override("de"):
        assert number(12345) == "12.345"
    with translation.override("en"):
        assert number(12345) == "12,345"
    with translation.override("ar"):
        assert number(12345) == "12,345"
    with translation.override("es"):
        assert number(12345) == "12.345"
    assert number(None) == ""


def test_milliseconds_of_a_time_are_in_the_page() -> None:
    assert iso(1_795_187_640_123) == iso(ms_datetime(1_795_187_640_123)) == "2026-11-20T15:14:00.123Z"
    assert iso(None) == ""


@pytest.mark.parametrize("name", ["Ada", "", "<b>"])
def test_an_account_without_an_avatar_shows_its_letter_on_its_colour(name: str) -> None:
    letter = {"Ada": "A", "": "A", "<b>": "&lt;"}[name]
    account = Author(id=7, handle="ada", display_name=name, state="active", version=1)
    assert avatar(account) == f'<span class="avatar hue-7" aria-hidden="true">{letter}</span>'
    link = f'<a class="avatar hue-7" href="/@ada/" tabindex="-1" aria-hidden="true">{letter}</a>'
    assert avatar(account, is_link=True) == link
    assert avatar({"id": "7", "handle": "ada", "display_name": name}, is_link=True) == link


@pytest.mark.parametrize(("size", "file"), [("", "small"), ("small", "small"), ("icon", "small"), ("large", "full")])
def test_an_account_with_an_avatar_shows_it_in_the_size_of_its_place(size: str, file: str) -> None:
    author = Author(id=7, handle="ada", display_name="Ada", state="active", version=2, avatar="5-secret")
    html = avatar(author, size)
    assert f'<img src="/media/5-secret/{file}.webp" alt=""' in html
    assert avatar(author_json(author), size) == html
