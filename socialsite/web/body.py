"""Bodies as a dict of texts: form-encoded, multipart or a JSON object.

Django decodes forms with replacement characters and keeps NUL. Here what is not UTF-8, holds NUL or half a
surrogate pair is refused at the door. JSON is decoded straight into its type, so nesting ends the decoding
where it begins.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import msgspec
from django.conf import settings

from socialsite.errors import MalformedRequest

if TYPE_CHECKING:
    from socialsite.web.requests import SiteRequest

JSON_INTEGER_MAX = 1 << 64  # larger ones are no ids of anything, and slow to write out

_json_object_decoder = msgspec.json.Decoder(dict[str, str | int | None])


def parse_body(request: "SiteRequest") -> dict[str, str]:
    """The fields of a request's body; the last of a name counts, a JSON null is an absent field.

    Raises Malformed.
    """
    match request.content_type:
        case "application/json":
            return _reject_invalid_text(_parse_json(request.body))
        case "multipart/form-data":
            return _reject_invalid_text(_parse_multipart(request))
        case "application/x-www-form-urlencoded":
            return _reject_invalid_text(_parse_urlencoded(request.body))
    if request.body:
        raise MalformedRequest
    return {}


def _parse_json(body: bytes) -> Iterable[tuple[str, str]]:
    try:
        fields = _json_object_decoder.decode(body)
    except ValueError as error:  # msgspec's own errors, and UnicodeDecodeError
        raise MalformedRequest from error
    if any(isinstance(value, int) and abs(value) > JSON_INTEGER_MAX for value in fields.values()):
        raise MalformedRequest
    return [(name, str(value)) for name, value in fields.items() if value is not None]


def _parse_urlencoded(body: bytes) -> Iterable[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=settings.DATA_UPLOAD_MAX_NUMBER_FIELDS,
        )
    except ValueError as error:  # UnicodeDecodeError is one
        raise MalformedRequest from error


def _parse_multipart(request: "SiteRequest") -> Iterable[tuple[str, str]]:
    """Django's parser puts U+FFFD where bytes are no UTF-8, so the body is looked at where it holds text
    alone.
    """
    fields = request.POST
    if not request.FILES:
        try:
            getattr(request, "_body", b"").decode()
        except UnicodeDecodeError as error:
            raise MalformedRequest from error
    return [(name, str(value)) for name, value in fields.items()]


def _reject_invalid_text(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """No text with NUL or half a surrogate pair."""
    checked = dict(fields)
    whole = "".join(checked) + "".join(checked.values())
    try:
        whole.encode()
    except UnicodeEncodeError as error:
        raise MalformedRequest from error
    if "\x00" in whole:
        raise MalformedRequest
    return checked
