"""The HTTP status and the code of every error, as documented in docs/reference/interface.md (Errors)."""

import pytest

from accounts import errors as accounts
from socialsite import errors as site
from socialsite.admin import errors as admin
from socialsite.site.settings import SetByEnvironment
from socialsite.web.middleware.errors import get_error_status
from timelines import errors as timelines

BASES = (site.Unauthorized, site.Forbidden, site.NotFound, site.Conflict, site.Invalid, site.Unavailable)
STATUS_AND_CODE: dict[type[site.ApiError], tuple[int, str]] = {
    accounts.FieldErrors: (422, "invalid"),
    accounts.HandleTaken: (409, "handle_taken"),
    accounts.AccountNotFound: (404, "not_found"),
    accounts.AddressTaken: (409, "address_taken"),
    accounts.InvalidLink: (404, "not_found"),
    accounts.InvalidCredentials: (401, "wrong_login"),
    accounts.FactorNeeded: (401, "factor_needed"),
    accounts.FactorNotFound: (404, "not_found"),
    accounts.SanctionNotFound: (404, "not_found"),
    accounts.AlreadySuspended: (409, "already_suspended"),
    accounts.SanctionsCapReached: (409, "sanctions_cap"),
    accounts.AppealNotPossible: (409, "appeal_not_possible"),
    admin.CannotModerateStaff: (403, "forbidden"),
    admin.CannotUndo: (409, "no_undo"),
    admin.NotSuspended: (409, "not_suspended"),
    SetByEnvironment: (409, "refused"),
    admin.AppealDecided: (409, "decided"),
    admin.AppealOfOwnDecision: (403, "forbidden"),
    accounts.PasskeyRefused: (401, "passkey_refused"),
    accounts.AccountSuspended: (401, "wrong_login"),
    accounts.PasswordsBusy: (503, "busy"),
    accounts.AccountWaiting: (401, "account_waiting"),
    accounts.SignUpClosed: (403, "sign_up_closed"),
    accounts.InvitationNeeded: (403, "invitation_needed"),
    accounts.InvitationInvalid: (404, "invitation_invalid"),
    accounts.AlreadyDecided: (409, "already_decided"),
    accounts.LastOwner: (409, "last_owner"),
    accounts.StaffCapReached: (409, "staff_cap"),
    accounts.InvalidToken: (401, "invalid_token"),
    accounts.MissingScope: (403, "forbidden"),
    accounts.AccountRequired: (422, "invalid"),
    site.SignInRequired: (401, "sign_in_needed"),
    site.AccountSilenced: (403, "silenced"),
    site.StepUpRequired: (403, "confirmation_needed"),
    site.MalformedRequest: (400, "malformed"),
    site.MethodNotAllowed: (405, "method_not_allowed"),
    site.RequestTooLarge: (413, "too_large"),
    site.RateLimited: (429, "rate_limited"),
    site.NewcomerLimited: (429, "rate_limited"),
    site.DeadlineExceeded: (503, "unavailable"),
    site.StorageUnavailable: (503, "storage_unavailable"),
    admin.CannotModerateSelf: (409, "own_account"),
    admin.MissingRight: (403, "missing_right"),
    admin.FactorRequired: (403, "factor_required"),
    timelines.PostNotFound: (404, "not_found"),
    timelines.TimelineNotFound: (404, "not_found"),
    timelines.HashtagNotFound: (404, "not_found"),
    timelines.PostInvalid: (422, "invalid"),
    timelines.TimeInvalid: (422, "invalid"),
    timelines.PostHeld: (422, "post_held"),
    timelines.VoteInvalid: (422, "invalid"),
    timelines.OneChoiceOnly: (422, "invalid"),
    timelines.PollEnded: (409, "poll_ended"),
    timelines.AlreadyVoted: (409, "already_voted"),
    timelines.DraftNotFound: (404, "not_found"),
    timelines.DraftsCapReached: (409, "drafts_cap"),
    timelines.NotBoostable: (422, "not_boostable"),
    timelines.NotQuotable: (403, "not_quotable"),
    timelines.NotPinnable: (422, "not_pinnable"),
    timelines.PinsCapReached: (409, "pins_cap"),
    timelines.IdempotencyConflict: (409, "idempotency_conflict"),
    timelines.EditConflict: (409, "edit_conflict"),
    timelines.EditsCapReached: (409, "edits_cap"),
    timelines.PostUnconfirmed: (503, "unconfirmed"),
    timelines.CannotFollowSelf: (422, "following_yourself"),
    timelines.FollowingCapReached: (409, "following_cap"),
    timelines.RequesterFollowingCapReached: (409, "requester_cap"),
    timelines.ReportNotFound: (404, "not_found"),
    timelines.AlreadyReported: (409, "already_reported"),
    timelines.CannotDecideOwnReport: (403, "forbidden"),
    timelines.ReportClaimed: (409, "report_claimed"),
    timelines.ReportClosed: (409, "report_closed"),
    timelines.ListNotFound: (404, "not_found"),
    timelines.ListTitleInvalid: (422, "invalid"),
    timelines.ListInvalid: (422, "invalid"),
    timelines.ListIsVirtual: (409, "virtual_list"),
    timelines.ListsCapReached: (409, "lists_cap"),
    timelines.ListMembersCapReached: (409, "members_cap"),
    timelines.CannotBlockOrMuteSelf: (422, "relating_to_yourself"),
    timelines.BlocksAndMutesCapReached: (409, "relations_cap"),
    timelines.MuteDurationInvalid: (422, "invalid"),
    timelines.FollowedHashtagsCapReached: (409, "tags_cap"),
    timelines.FollowRequestsCapReached: (409, "requests_cap"),
    timelines.FilterNotFound: (404, "not_found"),
    timelines.FilterInvalid: (422, "invalid"),
    timelines.FiltersCapReached: (409, "filters_cap"),
    timelines.NotesCapReached: (409, "notes_cap"),
    accounts.DeletionPending: (401, "deletion_pending"),
    timelines.TransferUnderWay: (409, "import_under_way"),
    timelines.ImportInvalid: (422, "invalid"),
    timelines.TransferNotFound: (404, "not_found"),
    timelines.TransfersCapReached: (409, "transfers_cap"),
    timelines.MediaNotFound: (404, "not_found"),
    timelines.MediaInvalid: (422, "invalid"),
    timelines.MediaRefused: (422, "media_refused"),
    timelines.MediaQuotaReached: (409, "media_quota"),
}


def all_errors(base: type[site.ApiError] = site.ApiError) -> set[type[site.ApiError]]:
    return {base}.union(*map(all_errors, base.__subclasses__()))


@pytest.mark.parametrize("error_class", STATUS_AND_CODE)
def test_every_error_keeps_its_status_and_code(error_class: type[site.ApiError]) -> None:
    error = error_class.__new__(error_class)
    status = 413 if error_class is site.RequestTooLarge else get_error_status(error)
    assert (status, error_class.code) == STATUS_AND_CODE[error_class]


def test_the_table_names_every_error_class() -> None:
    assert all_errors() - {site.ApiError, *BASES} == set(STATUS_AND_CODE)
