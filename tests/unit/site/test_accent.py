"""The accent colour: colours that cannot be read are refused, and those for dark pages can be read there."""

import re

import pytest

from socialsite.errors import Invalid
from socialsite.site.accent import _contrast, _parse, accent_css, is_readable
from socialsite.site.settings import SiteSettings, apply_changes

LIGHT_SHEETS = ("#fbfaf8", "#ffffff")
DARK_SHEETS = ("#121416", "#1d2022")


def test_the_contrast_of_two_colours_is_that_of_wcag() -> None:
    assert _contrast(_parse("#000000"), _parse("#ffffff")) == pytest.approx(21)
    assert _contrast(_parse("#767676"), _parse("#ffffff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("colour", ["#ffff00", "#8ab4f8", "#ffffff", "#777777"])
def test_a_colour_that_is_too_light_is_refused_with_a_sentence(colour: str) -> None:
    with pytest.raises(Invalid) as refused:
        apply_changes(SiteSettings(), {"accent": colour})
    assert "darker" in str(refused.value.fields["accent"])


@pytest.mark.parametrize("colour", ["#0b57d0", "#000000", "#b3261e", "#6a1b9a", "#00695c", "#5d4037"])
def test_every_pair_of_colours_can_be_read(colour: str) -> None:
    assert is_readable(colour)
    pairs = re.findall(r"--([\w-]+):light-dark\((#\w{6}),(#\w{6})\)", accent_css(colour))
    light = {name: _parse(first) for name, first, _ in pairs}
    dark = {name: _parse(second) for name, _, second in pairs}
    assert light["accent"] == _parse(colour)
    for theme, sheets in ((light, LIGHT_SHEETS), (dark, DARK_SHEETS)):
        for name in ("accent", "accent-strong"):
            for background in (*map(_parse, sheets), theme["accent-soft"], theme["on-accent"]):
                assert _contrast(theme[name], background) >= 4.5, (name, background)
