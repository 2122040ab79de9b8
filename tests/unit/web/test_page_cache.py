"""Pages from kept shells say what the template would have said."""

import pytest
from django.utils.safestring import SafeString
from django.utils.translation import override

from socialsite.web.page_cache import PageCache, PageViewer, Placeholder

PAGE = "{{ viewer.handle }}:{% if box.next %}<a href='{{ box.next }}'>{% endif %}{{ title }}{{ box.html }}"


@pytest.fixture
def shells(settings):
    """A template of its own, compiled anew for each test."""
    loaders = [("django.template.loaders.locmem.Loader", {"page.html": PAGE, "quoted.html": "{{ a|urlencode }}"})]
    settings.TEMPLATES = [
        {"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": {"loaders": loaders}}
    ]
    return TextShells(max_pages=3)


class TextShells(PageCache):
    """Pages as text, to be compared with text."""

    def render(self, template, context, **options):
        return super().render(template, context, **options).decode()


def context(**more):
    box = {"next": Placeholder("/?before=7"), "html": Placeholder(SafeString("<li>"))}
    return {"viewer": PageViewer(1, "alice", "Alice", False), "title": "A & B", "box": box, **more}


def test_a_slot_is_filled_anew_each_time(shells):
    assert shells.render("page.html", context()) == "alice:<a href='/?before=7'>A &amp; B<li>"
    again = context(box={"next": Placeholder("/?before=9&limit=3"), "html": Placeholder(SafeString("<b>"))})
    assert shells.render("page.html", again) == "alice:<a href='/?before=9&amp;limit=3'>A &amp; B<b>"
    assert len(shells) == 1


def test_an_unsafe_slot_is_escaped(shells):
    assert "&lt;li&gt;" in shells.render("page.html", context(box={"next": None, "html": Placeholder("<li>")}))


def test_whether_there_is_a_slot_makes_another_page(shells):
    assert shells.render("page.html", context(box={"next": None, "html": Placeholder("")})) == "alice:A &amp; B"
    assert "<a" in shells.render("page.html", context())


def test_another_viewer_never_gets_the_shell_of_the_first(shells):
    shells.render("page.html", context())
    assert shells.render("page.html", context(viewer=PageViewer(1, "bob", "Alice", False))).startswith("bob:")
    assert shells.render("page.html", context(viewer=None)).startswith(":")


def test_a_safe_text_is_another_text(shells):
    shells.render("page.html", context(title="<b>"))
    assert "<b>" in shells.render("page.html", context(title=SafeString("<b>")))


def test_each_language_has_its_shell(shells):
    shells.render("page.html", context())
    with override("de"):
        shells.render("page.html", context())
    assert len(shells) == 2


def test_a_context_of_more_than_plain_values_is_rendered_as_ever(shells):
    assert shells.render("page.html", context(messages=[object()])).startswith("alice:<a")
    assert not len(shells)


def test_a_slot_under_a_filter_is_rendered_as_ever(shells):
    for path in ("/?a=b", "/?c=d"):
        assert shells.render("quoted.html", {"a": Placeholder(path)}) == path.replace("?", "%3F").replace("=", "%3D")


def test_a_page_that_is_not_kept_leaves_nothing_behind(shells):
    assert shells.render("page.html", context(), use_cache=False).startswith("alice:<a")
    assert not len(shells)


def test_the_oldest_shells_go(shells):
    for number in range(10):
        shells.render("page.html", context(title=str(number)))
    assert len(shells) == 3
