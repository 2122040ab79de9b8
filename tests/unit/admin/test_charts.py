"""SVG path data of charts."""

from socialsite.admin.presenters.activity import CHART_HEIGHT, CHART_WIDTH, area_path, line_path


def test_a_line_goes_from_the_left_to_the_right_edge() -> None:
    assert line_path([0, 10, 5], 10) == "M0 60L150 4L300 32"


def test_zero_values_draw_a_line_along_the_bottom() -> None:
    assert line_path([0, 0], 0) == f"M0 {CHART_HEIGHT}L{CHART_WIDTH} {CHART_HEIGHT}"


def test_a_line_joins_its_points_over_intervals_without_a_value() -> None:
    assert line_path([None, 10, None, 0, 0], 10) == "M75 4L225 60L300 60"


def test_a_single_point_is_visible() -> None:
    assert line_path([None, 10, None], 10) == "M150 4h6"


def test_no_points_draw_no_line() -> None:
    assert line_path([], 0) == area_path([], 0) == ""


def test_an_area_is_closed_along_the_bottom() -> None:
    assert area_path([0, 10], 10) == "M0 60L300 4L300 60L0 60Z"
