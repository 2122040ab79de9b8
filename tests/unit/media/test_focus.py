"""The focal point of a picture, as apps send it."""

import time

import pytest

from timelines.errors import MediaInvalid
from timelines.media.forms import parse_focus


@pytest.mark.parametrize("text", ["9" * 60_000, "9," * 30_000, "-9" * 30_000, "9,9,9," + "9" * 60_000 + "x"])
def test_a_long_focal_point_is_refused_in_milliseconds(text: str) -> None:
    began = time.process_time()
    with pytest.raises(MediaInvalid):
        parse_focus({"focus": text})
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize("text", ["0.5,-0.25", "0,5,-0,25", " 0.50 , -0.25 "])
def test_a_focal_point_has_decimal_points_or_commas(text: str) -> None:
    assert parse_focus({"focus": text}) == (0.5, -0.25)
