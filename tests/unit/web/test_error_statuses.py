"""The HTTP status and the code of every error, as documented in docs/reference/interface.md (Errors)."""

from collections.abc import Iterator

import pytest

import socialsite.urls  # noqa: F401 - imports the errors of all features
from socialsite import errors
from socialsite.errors import RateLimited
from socialsite.settings_parsers import DEFAULT_RATE_LIMITS
from socialsite.web.middleware.errors import get_error_status

CODES_BY_STATUS = {
    400: "malformed",
    401: "account_waiting deletion_pending factor_needed invalid_token passkey_refused sign_in_needed wrong_login",
    403: "confirmation_needed factor_required forbidden invitation_needed missing_right not_quotable "
    "sign_up_closed silenced",
    404: "invitation_invalid not_found",
    405: "method_not_allowed",
    409: "address_taken already_decided already_reported already_suspended already_voted appeal_not_possible "
    "decided drafts_cap edit_conflict edits_cap filters_cap following_cap handle_taken "
    "idempotency_conflict import_under_way last_owner lists_cap media_quota members_cap no_undo "
    "not_suspended notes_cap own_account pins_cap poll_ended refused relations_cap report_claimed "
    "report_closed requester_cap requests_cap sanctions_cap staff_cap tags_cap transfers_cap virtual_list",
    413: "too_large",
    422: "following_yourself invalid media_refused not_boostable not_pinnable post_held relating_to_yourself",
    429: "rate_limited",
    503: "busy storage_unavailable unavailable unconfirmed",
}
"""The codes of release 0.2.0, on which clients rely. A new error needs no line here."""


def all_errors(base: type[errors.ApiError] = errors.ApiError) -> Iterator[type[errors.ApiError]]:
    """Yield the error classes of the site that have a code of their own, or a base with one."""
    for error_class in base.__subclasses__():
        if base is not errors.ApiError or "code" in vars(error_class):
            yield error_class
        yield from all_errors(error_class)


def status_of(error_class: type[errors.ApiError]) -> int:
    return 413 if error_class is errors.RequestTooLarge else get_error_status(error_class.__new__(error_class))


def statuses_by_code() -> dict[str, set[int]]:
    statuses: dict[str, set[int]] = {}
    for error_class in all_errors():
        statuses.setdefault(error_class.code, set()).add(status_of(error_class))
    return statuses


def test_every_error_has_a_status_below_the_six_bases_and_a_code_of_that_status_alone() -> None:
    assert [error.__name__ for error in all_errors() if status_of(error) not in range(400, 504)] == []
    assert {code: found for code, found in statuses_by_code().items() if len(found) > 1 or not code} == {}


def test_the_codes_of_the_release_keep_their_status() -> None:
    released = {code: {status} for status, codes in CODES_BY_STATUS.items() for code in codes.split()}
    assert released == {code: statuses for code, statuses in statuses_by_code().items() if code in released}


@pytest.mark.parametrize("rule", sorted({*DEFAULT_RATE_LIMITS} - {"address", "app", "socket", "token"}))
def test_the_refusal_of_a_person_does_not_blame_the_network(rule: str) -> None:
    assert "requests from your network" not in str(RateLimited(rule, 30).message)


@pytest.mark.parametrize("rule", ["imports", "exports", "importbytes", "posts", "reports", "bytes", "apps", "follows"])
def test_the_refusal_of_a_limit_of_a_day_does_not_speak_of_a_minute(rule: str) -> None:
    assert "minute" not in str(RateLimited(rule, 40_000).message)
