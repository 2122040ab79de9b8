"""The fields of forms as services get them."""

from socialsite.web.requests import reject_invalid_text


def test_a_line_end_is_one_character() -> None:
    assert dict(reject_invalid_text([("text", "a\r\nb\nc"), ("other", "a")])) == {"text": "a\nb\nc", "other": "a"}
