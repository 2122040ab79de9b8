"""A flame graph has a colour for each layer of the code."""

import pytest

from benchmarks.flame_svg import LAYERS, _colour


@pytest.mark.parametrize(
    ("function", "layer"),
    [
        ("socialsite.store.node:Node.execute_all", "the store's client"),
        ("timelines.home_page.views:home", "views, presenters, middleware"),
        ("timelines.pages.presenters:entry_html", "views, presenters, middleware"),
        ("accounts.sessions.middleware:load_session", "views, presenters, middleware"),
        ("socialsite.web.page_cache:render", "views, presenters, middleware"),
        ("timelines.reading.pipeline:ReadPipeline.read_page", "services, repositories"),
        ("accounts.accounts.repository:AccountRepository.find", "services, repositories"),
        ("django.template.base:Template.render", "Django"),
        ("json.encoder:JSONEncoder.encode", "Python's library"),
    ],
)
def test_each_function_has_the_colour_of_its_layer(function: str, layer: str) -> None:
    assert _colour(function) == next(colour for colour, name, _ in LAYERS if name == layer)
