"""The fields of API requests: the query string and a body in JSON, form data or multipart, for every method.

Nested JSON becomes flat as in form data: `{"source": {"privacy": "public"}}` is `source[privacy]`, a list of texts is
`id[]`, and a list of objects is `fields[0][name]`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO

import msgspec
from django.utils.translation import gettext_lazy as _

from socialsite.errors import ApiError, Invalid, MalformedRequest
from socialsite.ids import parse_id
from socialsite.web.display import activate_language
from socialsite.web.request_budget import FieldBudget
from socialsite.web.requests import (
    JSON_INTEGER_MAX,
    JSON_TYPE,
    FormFields,
    SiteRequest,
    parse_multipart,
    parse_urlencoded,
    reject_invalid_text,
)
from socialsite.web.uploads import set_form

JSON_DEPTH_MAX = 4
MAX_OFFSET = 60
"""The maximum number of skipped results. Beyond it there are no results: clients page posts by `max_id`."""
FALSE_TEXTS = frozenset({"0", "f", "false", "off", "no"})
"""All other texts are true, as in Rails. An empty text is an absent field."""
KEPT_EMPTY = frozenset({"allowed_mentions", "fields_attributes"})
"""The lists and objects for which an empty and an absent value differ in meaning."""
KEPT_NULL = frozenset({"expires_in"})
"""The values for which null and an absent value differ in meaning: null is a filter without an end."""


def api_fields(request: SiteRequest) -> FormFields:
    """Return the fields of the query string and the body, which are parsed once. Raises MalformedRequest.

    The field `lang` chooses the language of errors.
    """
    fields = getattr(request, "_api_fields", None)
    if fields is None:
        query = parse_urlencoded(request.META.get("QUERY_STRING", "").encode())
        fields = request._api_fields = reject_invalid_text([*query, *_parse_body(request)])  # type: ignore[attr-defined]
        activate_language(fields.get("lang", ""))
    return fields


@contextmanager
def rename_error_fields(names: Mapping[str, str]) -> Iterator[None]:
    """Rename the fields of an error. `names` maps the name of a field in the services to its name in the API."""
    try:
        yield
    except ApiError as error:
        error.fields = {names.get(name, name): text for name, text in error.fields.items()}
        raise


def flag(fields: FormFields, name: str, default: bool = False) -> bool:
    """Return a boolean, which clients write as 1, true, True, on or t and as 0, false, False, off or f."""
    text = fields.get(name, "").lower()
    return text not in FALSE_TEXTS if text else default


def id_field(fields: FormFields, name: str) -> int | None:
    """Return the id in a field, or None if the field is absent or empty. Raises Invalid."""
    text = fields.get(name, "")
    if not text:
        return None
    number = parse_id(text)
    if number is None:
        raise Invalid({name: _("This is not an id.")})
    return number


def require_id(fields: FormFields, name: str) -> int:
    """Return the id in a field. Raises Invalid if the field is absent or not an id."""
    number = id_field(fields, name)
    if number is None:
        raise Invalid({name: _("This is not an id.")})
    return number


def ids_field(fields: FormFields, name: str, maximum: int) -> list[int]:
    """Return the ids of `name[]`, each once, without texts that are no ids. Raises Invalid for more than `maximum`."""
    numbers = dict.fromkeys(map(parse_id, fields.values_of(name)))
    if len(numbers) > maximum:  # a shorter answer would look complete
        raise Invalid({name: _("These are more than %(most)d ids.") % {"most": maximum}})
    return [number for number in numbers if number is not None]


def limit_field(fields: FormFields, default: int, maximum: int) -> int:
    """Return `limit`, clamped to 1..maximum. Raises Invalid if the limit is not a number."""
    text = fields.get("limit", "")
    if not text:
        return default
    number = parse_id(text.removeprefix("-"))
    if number is None:
        raise Invalid({"limit": _("This is not a number.")})
    return 1 if text.startswith("-") else min(max(number, 1), maximum)


def offset_field(fields: FormFields) -> int:
    """Return the number of results that the client skips, or 0 if the field is absent or not a number."""
    return parse_id(fields.get("offset", "")) or 0


def _parse_body(request: SiteRequest) -> Iterable[tuple[str, str]]:
    if request.content_type == "multipart/form-data":
        if request.method != "POST" and not hasattr(request, "_files"):  # Django parses only POST by itself
            set_form(request, *request.parse_file_upload(request.META, BytesIO(request.body)))
        return parse_multipart(request)
    if not request.body:
        return ()
    if request.content_type == JSON_TYPE:
        return _flatten_json(request.body)
    if request.content_type in ("application/x-www-form-urlencoded", ""):
        return parse_urlencoded(request.body)
    raise MalformedRequest


def _flatten_json(body: bytes) -> Iterable[tuple[str, str]]:
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:  # also UnicodeDecodeError
        raise MalformedRequest from error
    if not isinstance(value, dict):
        raise MalformedRequest
    budget = FieldBudget()
    return (pair for name, each in value.items() for pair in _flatten(name, each, JSON_DEPTH_MAX, budget))


def _flatten(name: str, value: object, depth: int, budget: FieldBudget) -> Iterator[tuple[str, str]]:
    """Yield the fields of a value. A null is an absent field. Raises MalformedRequest."""
    if depth == 0:
        raise MalformedRequest
    budget.count(name)
    if not value and name in KEPT_EMPTY and isinstance(value, dict | list):
        yield f"{name}[]", ""
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _flatten(f"{name}[{key}]", each, depth - 1, budget)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _flatten(f"{name}[{number}]" if isinstance(each, dict) else f"{name}[]", each, depth - 1, budget)
    elif isinstance(value, bool):
        yield name, "true" if value else "false"
    elif isinstance(value, int) and abs(value) > JSON_INTEGER_MAX:
        raise MalformedRequest
    elif isinstance(value, float) and value.is_integer():  # some programs send all numbers as floats
        yield from _flatten(name, int(value), depth, budget)
    elif value is not None or name in KEPT_NULL:
        yield name, "" if value is None else str(value)
