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

from socialsite.errors import Malformed

if TYPE_CHECKING:
    from socialsite.web.requests import SiteRequest

NUMBER_MAX = 1 << 64  # larger ones are no ids of anything, and slow to write out

_object = msgspec.json.Decoder(dict[str, str | int | None])


def read_form(request: "SiteRequest") -> dict[str, str]:
    """The fields of a request's body; the last of a name counts, a JSON null is an absent field.

    Raises Malformed.
    """
    match request.content_type:
        case "application/json":
            return _checked(_json_fields(request.body))
        case "multipart/form-data":
            return _checked(_multipart_fields(request))
        case "application/x-www-form-urlencoded":
            return _checked(_urlencoded_fields(request.body))
    if request.body:
        raise Malformed
    return {}


def _json_fields(body: bytes) -> Iterable[tuple[str, str]]:
    try:
        fields = _object.decode(body)
    except ValueError as error:  # msgspec's own errors, and UnicodeDecodeError
        raise Malformed from error
    if any(isinstance(value, int) and abs(value) > NUMBER_MAX for value in fields.values()):
        raise Malformed
    return [(name, str(value)) for name, value in fields.items() if value is not None]


def _urlencoded_fields(body: bytes) -> Iterable[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=settings.DATA_UPLOAD_MAX_NUMBER_FIELDS,
        )
    except ValueError as error:  # UnicodeDecodeError is one
        raise Malformed from error


def _multipart_fields(request: "SiteRequest") -> Iterable[tuple[str, str]]:
    """Django's parser puts U+FFFD where bytes are no UTF-8, so the body is looked at where it holds text
    alone.
    """
    fields = request.POST
    if not request.FILES:
        try:
            getattr(request, "_body", b"").decode()
        except UnicodeDecodeError as error:
            raise Malformed from error
    return [(name, str(value)) for name, value in fields.items()]


def _checked(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """No text with NUL or half a surrogate pair."""
    checked = dict(fields)
    whole = "".join(checked) + "".join(checked.values())
    try:
        whole.encode()
    except UnicodeEncodeError as error:
        raise Malformed from error
    if "\x00" in whole:
        raise Malformed
    return checked
