"""Cursors of the API, and the links of its pages."""

from socialsite.web.requests import FormFields
from tests.unit.api.test_fields import request
from timelines.api.pagination import api_page, page_response


def page(**cursors: str) -> list[int]:
    """Return what a page keeps of ten entries."""
    return api_page(FormFields(cursors.items())).trim(range(10, 0, -1), lambda entry: entry)


def test_cursors_are_exclusive() -> None:
    assert page(max_id="8", since_id="5") == [7, 6]
    assert page(min_id="5", max_id="8") == [7, 6]
    assert page() == list(range(10, 0, -1))


def test_min_id_reads_upwards_and_the_others_downwards() -> None:
    assert api_page(FormFields([("min_id", "5")])).request.upward
    assert not api_page(FormFields([("since_id", "5")])).request.upward
    down = api_page(FormFields([("max_id", "5"), ("limit", "99")])).part
    assert down == {"before": 5, "limit": 40, "shows_parents": False}


def test_links_are_absolute_and_keep_other_parameters() -> None:
    built = request(method="GET", query="limit=2&max_id=9&only_media=true&access_token=secret")
    built.META["HTTP_HOST"] = "testserver"
    link = page_response(built, [1, 2], next_id=3, previous_id=7).headers["Link"]
    assert link == (
        '<http://testserver/api/v1/x?limit=2&only_media=true&max_id=3>; rel="next", '
        '<http://testserver/api/v1/x?limit=2&only_media=true&min_id=7>; rel="prev"'
    )


def test_an_empty_page_has_no_links() -> None:
    assert "Link" not in page_response(request(method="GET"), [], next_id=3, previous_id=7).headers
