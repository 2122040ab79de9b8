"""Fields of API requests, in every form in which clients send them."""

from io import BytesIO
from typing import Any

import pytest

from socialsite.errors import Invalid, MalformedRequest
from socialsite.web.requests import FormFields, SiteRequest
from timelines.api.fields import api_fields, flag, id_field, ids_field, limit_field

FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def request(body: bytes | str = b"", content_type: str = FORM, method: str = "POST", query: str = "") -> SiteRequest:
    body = body.encode() if isinstance(body, str) else body
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": "/api/v1/x",
        "query_string": query.encode(),
        "headers": [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())],
    }
    built = SiteRequest(scope, BytesIO(body))
    built._body = body
    return built


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"status": "hi", "n": 5.0, "media_ids": ["1", 2], "poll": {"options": ["a", "b"], "multiple": true}}', JSON),
        ("status=hi&n=5&media_ids[]=1&media_ids[]=2&poll[options][]=a&poll[options][]=b&poll[multiple]=true", FORM),
        (
            "\r\n".join(
                f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}'
                for name, value in [
                    ("status", "hi"), ("n", "5"), ("media_ids[]", "1"), ("media_ids[]", "2"),
                    ("poll[options][]", "a"), ("poll[options][]", "b"), ("poll[multiple]", "true"),
                ]
            ) + "\r\n--x--\r\n",
            "multipart/form-data; boundary=x",
        ),
    ],
)  # fmt: skip
def test_every_body_of_every_method_has_the_same_fields(body: str, content_type: str, method: str) -> None:
    fields = api_fields(request(body, content_type, method))
    assert fields["status"] == "hi"
    assert fields["n"] == "5"
    assert ids_field(fields, "media_ids", 4) == [1, 2]
    assert fields.values_of("poll[options]") == ["a", "b"]
    assert flag(fields, "poll[multiple]")


def test_the_query_has_fields_too() -> None:
    fields = api_fields(request(method="GET", query="id[]=1&id[]=2&id%5B%5D=3&limit=5"))
    assert ids_field(fields, "id", 10) == [1, 2, 3]
    with pytest.raises(Invalid):  # a shorter answer would look complete
        ids_field(fields, "id", 2)


@pytest.mark.parametrize("text", ["1", "true", "True", "TRUE", "on", "t", "yes"])
def test_a_flag_is_true_for_each_text_that_apps_send_for_true(text: str) -> None:
    assert flag(FormFields([("x", text)]), "x", default=False)


@pytest.mark.parametrize("text", ["0", "false", "False", "FALSE", "off", "f"])
def test_a_flag_is_false_for_each_text_that_apps_send_for_false(text: str) -> None:
    assert not flag(FormFields([("x", text)]), "x", default=True)


def test_an_absent_or_empty_flag_is_its_default() -> None:
    assert flag(FormFields([]), "x", default=True)
    assert flag(FormFields([("x", "")]), "x", default=True)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"k": [{"keyword": "a", "whole_word": true}, {"keyword": "b", "id": 7}]}', JSON),
        ("k[][keyword]=a&k[][whole_word]=true&k[][keyword]=b&k[][id]=7", FORM),
        ("k[0][keyword]=a&k[0][whole_word]=true&k[1][keyword]=b&k[1][id]=7", FORM),
    ],
)
def test_a_list_of_objects_is_read_from_each_form_of_a_body(body: str, content_type: str) -> None:
    fields = api_fields(request(body, content_type))
    assert fields.objects_of("k") == [{"keyword": "a", "whole_word": "true"}, {"keyword": "b", "id": "7"}]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("[1]", JSON),
        ("{", JSON),
        ('{"a": ' + "[" * 50 + "]" * 50 + "}", JSON),
        ('{"a": ' + "[" * 30_000 + "]" * 30_000 + "}", JSON),
        ('{"a": {"b": {"c": {"d": {"e": 1}}}}}', JSON),
        ('{"a": 1' + "0" * 30 + "}", JSON),
        ('{"a": 1e300}', JSON),
        ('{"a": "\\u0000"}', JSON),
        (b"a=%ff", FORM),
        (b"x", "text/plain"),
        ("&".join(f"a{n}=1" for n in range(501)), FORM),
    ],
)
def test_a_malformed_body_is_refused(body: str | bytes, content_type: str) -> None:
    with pytest.raises(MalformedRequest):
        api_fields(request(body, content_type))


@pytest.mark.parametrize("content_type", [JSON, FORM, "", "text/plain"])
def test_an_empty_body_has_no_fields(content_type: str) -> None:
    assert api_fields(request(b"", content_type)) == {}


def test_numbers_are_checked() -> None:
    assert id_field(FormFields([("max_id", "12")]), "max_id") == 12
    assert id_field(FormFields([]), "max_id") is None
    with pytest.raises(Invalid):
        id_field(FormFields([("max_id", "x")]), "max_id")
    assert [limit_field(FormFields([("limit", text)]), 20, 40) for text in ("", "5", "999", "0", "-3")] == [
        20, 5, 40, 1, 1,
    ]  # fmt: skip
