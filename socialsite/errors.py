"""Base classes of all errors that become an HTTP response, and the errors of a request itself.

An error class of an app derives from the base class with its HTTP status (socialsite/web/middleware/errors.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus

from django.utils.formats import date_format
from django.utils.functional import Promise, lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

SECONDS_PER_HOUR = 3_600
LONGEST_MINUTE_S = 120
"""The longest wait for a limit of requests in a minute. A longer wait is for a limit of a day."""
LazyText = str | Promise  # a message, translated when it is shown


class ApiError(Exception):
    """An expected error. `code` is for programs, `message` is for people, `fields` has one message per wrong input.

    A class with a `field` puts its message beside that input.
    """

    code: str = "refused"
    message: LazyText = _("This cannot be done.")
    field: str = ""
    api_message: LazyText = ""
    """Mastodon's text of this error, if apps know it, for the client API. Pages show `message` and `fields`."""
    details: Mapping[str, Sequence[tuple[str, LazyText]]] = {}
    """Mastodon's code and the text of each fault of a field, for the client API. The default is made of `fields`."""
    headers: Mapping[str, str] = {}
    """Headers of the response."""

    def __init__(self, message: LazyText | None = None, *, fields: Mapping[str, LazyText] | None = None) -> None:
        self.message = message if message is not None else type(self).message
        self.fields: dict[str, LazyText] = dict(fields or ({self.field: self.message} if self.field else {}))
        super().__init__(self.code)


class Unauthorized(ApiError):
    """401: the client is not signed in, or the credentials are wrong."""


class Forbidden(ApiError):
    """403: the viewer may not do this."""

    code = "forbidden"
    message = _("You don't have permission to do this.")


class AccountSilenced(Forbidden):
    """Staff silenced the account: it may read, but not write until `until_ms`."""

    code = "silenced"

    def __init__(self, until_ms: int) -> None:
        super().__init__(
            format_lazy(
                _("The people who run this site have silenced your account. You can write again from {time} UTC."),
                time=_format_time(until_ms),
            )
        )
        self.until_ms = until_ms


def write_time(at_ms: int) -> str:
    """Return the date and time (UTC), rounded up to the minute."""
    minute_s = -(-at_ms // 60_000) * 60
    return str(date_format(datetime.fromtimestamp(minute_s, UTC), "DATETIME_FORMAT"))


_format_time = lazy(write_time, str)


class NotFound(ApiError):
    """404: the object is absent, deleted or invisible to the viewer. The response is the same in all three cases."""

    code = "not_found"
    message = _("Nothing was found at this address.")


class Conflict(ApiError):
    """409: the present state does not permit the action, for example because a cap is reached."""


class Invalid(ApiError):
    """422: an input breaks a rule."""

    code = "invalid"

    def __init__(self, fields: Mapping[str, LazyText] | None = None, message: LazyText | None = None) -> None:
        super().__init__(message, fields=fields)


class Unavailable(ApiError):
    """503: the effect is unknown, and the client may safely repeat the request."""

    code = "unavailable"
    message = _("The site cannot answer right now. Please try again in a moment.")


class StorageUnavailable(Unavailable):
    """The machine cannot store files: its disk is full, read-only or broken, or the permissions are wrong."""

    code = "storage_unavailable"
    message = _("This site cannot store files right now. The people who run it can see why. Please try again later.")


# Errors of a request itself


class MalformedRequest(ApiError):
    """400: the request contains invalid UTF-8, invalid JSON, or a text where a number is required."""

    code = "malformed"
    message = _("This request is not valid.")


class SignInRequired(Unauthorized):
    """The page is for signed-in accounts. An HTML client is redirected to the log-in page by 303."""

    code = "sign_in_needed"
    message = _("Please log in first.")


class StepUpRequired(Forbidden):
    """The action needs the password or a second factor again. An HTML client is redirected to the page that asks."""

    code = "confirmation_needed"
    message = _("Please confirm that it is you.")


class MethodNotAllowed(ApiError):
    """405: the URL does not support this method."""

    code = "method_not_allowed"
    message = _("This address does not support this method.")

    def __init__(self, allowed_methods: Iterable[str]) -> None:
        super().__init__()
        self.headers = {"Allow": ", ".join(allowed_methods)}


class RequestTooLarge(ApiError):
    """The body (413) or the head (431) is larger than this site reads."""

    code = "too_large"
    message = _("This request is too large.")

    def __init__(self, status: HTTPStatus = HTTPStatus.REQUEST_ENTITY_TOO_LARGE) -> None:
        super().__init__()
        self.status = status


class RateLimited(ApiError):
    """429: the rate limit `rule` is used up for `retry_after_s` seconds."""

    code = "rate_limited"
    message = _("There were too many requests from your network in the last minute.")
    daily_message = _("You did this as often as is allowed in a day.")
    message_by_rule: Mapping[str, LazyText] = {
        "post": _("You posted too often in the last minute."),
        "follows": _("You followed as many people as a new account may in a day."),
        "bytes": _("You, or all people here together, wrote as much as is allowed in a day."),
        "bodies": _("Other uploads of large files are under way."),
        "apps": _("As many apps were registered as is allowed in a day."),
        "posts": _("You published as many posts as an account may in a day."),
        "edit": _("You did this too often in the last minute."),
        "appeal": _("You did this too often in the last minute."),
        "follow": _("You followed too many people in the last minute."),
        "like": _("You liked or bookmarked too many posts in the last minute."),
        "block": _("You blocked or muted too many people in the last minute."),
        "delete": _("You deleted too many posts in the last minute."),
        "mail": _("You asked for too many mails in the last minute."),
        "media": _("You uploaded too many pictures in the last minute."),
        "list": _("You changed lists or filters too often in the last minute."),
        "draft": _("You saved too many drafts in the last minute."),
        "report": _("You sent too many reports in the last minute."),
        "reports": _("You sent as many reports as an account may in a day."),
        "staff": _("You moderated too often in the last minute."),
        "login": _("There were too many attempts to log in in the last minute."),
        "factor": _("There were too many wrong codes today. Use a recovery code or a passkey."),
        "signup": _("Too many accounts were created from your network in the last minute."),
        "search": _("You searched too often in the last minute."),
        "complete": _("You searched too often in the last minute."),
        "merge": _("You loaded too many pages in the last minute."),
    }

    def __init__(self, rule: str, retry_after_s: int) -> None:
        number = retry_after_s if retry_after_s < 2 * SECONDS_PER_HOUR else -(-retry_after_s // SECONDS_PER_HOUR)
        if number == retry_after_s:
            wait = ngettext_lazy("Try again in %d second.", "Try again in %d seconds.", number)
        else:
            wait = ngettext_lazy("Try again in %d hour.", "Try again in %d hours.", number)
        fallback = self.daily_message if retry_after_s > LONGEST_MINUTE_S else type(self).message
        reason = self.message_by_rule.get(rule, fallback)
        super().__init__(format_lazy("{} {}", reason, wait % number), fields={"rule": rule})
        self.rule = rule
        self.retry_after_s = retry_after_s
        self.headers = {"Retry-After": str(retry_after_s)}


class NewcomerLimited(RateLimited):
    """429: the limit is used up, and it is lower than others because the account is new."""

    def __init__(self, refusal: RateLimited, until_ms: int) -> None:
        super().__init__(refusal.rule, refusal.retry_after_s)
        self.message = format_lazy("{} {}", self.message, describe_newcomer_limits(until_ms))


def describe_newcomer_limits(until_ms: int) -> str:
    """Return the sentence that says until when the limits of new accounts apply."""
    date = date_format(datetime.fromtimestamp(until_ms / 1000, UTC), "DATE_FORMAT")
    return gettext("Lower limits apply to new accounts, to yours until %(date)s.") % {"date": date}


class DeadlineExceeded(Unavailable):
    """The request's deadline passed before there was an answer."""
