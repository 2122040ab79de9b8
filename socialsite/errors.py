"""The shape of every refusal, and what can be wrong with a request before any app has looked at it.

What HTTP status each becomes stands in ONE table, socialsite/web/middleware/errors.py.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

LazyText = str | Promise  # a message, translated when it is shown


class ApiError(Exception):
    """Something that is not to be: `code` is for programs, `message` for people, `fields` says which input
    is at fault. Each app derives a base of its own from it, and from that one class a rule."""

    code: str = "refused"
    message: LazyText = _("This cannot be done.")

    def __init__(self, message: LazyText | None = None, *, fields: Mapping[str, LazyText] | None = None) -> None:
        self.message = message if message is not None else type(self).message
        self.fields: dict[str, LazyText] = dict(fields or {})
        super().__init__(self.code)


class RequestError(ApiError):
    """Base of every refusal of a request as such."""

    code = "malformed"
    message = _("This request cannot be understood.")


class MalformedRequest(RequestError):
    """Not UTF-8, not JSON, not a number where one belongs. 400."""


class MethodNotAllowed(RequestError):
    """This address answers other methods only. 405."""

    code = "method_not_allowed"
    message = _("This address does not answer this method.")

    def __init__(self, allowed_methods: Iterable[str]) -> None:
        super().__init__()
        self.allowed_methods = tuple(allowed_methods)


class RequestTooLarge(RequestError):
    """The body (413) or the head (431) is larger than this site reads."""

    code = "too_large"
    message = _("This request is too large.")

    def __init__(self, status: HTTPStatus = HTTPStatus.REQUEST_ENTITY_TOO_LARGE) -> None:
        super().__init__()
        self.status = status


class RateLimited(RequestError):
    """A rate limit refused; `rule` says which, `retry_after_s` when to try again. 429."""

    code = "rate_limited"
    message = _("This was too often. Please wait a little.")

    def __init__(self, rule: str, retry_after_s: int) -> None:
        super().__init__(fields={"rule": rule})
        self.rule = rule
        self.retry_after_s = retry_after_s


class DeadlineExceeded(RequestError):
    """The request's deadline passed before there was an answer.

    503: the effect is unknown, repeating is safe.
    """

    code = "unavailable"
    message = _("The site cannot answer right now. Please try again in a moment.")
