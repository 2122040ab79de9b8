"""Errors of posts, timelines, follows and lists. The base class of each error has its HTTP status."""

from django.utils.translation import gettext_lazy as _

from socialsite.errors import Conflict, Forbidden, Invalid, LazyText, NotFound, Unavailable


class PostNotFound(NotFound):
    """The post is absent, deleted or invisible to the viewer, or another account wrote it."""

    message = _("This post does not exist, or no longer does.")


class TimelineNotFound(NotFound):
    """No timeline of this name is visible to the viewer."""

    message = _("This timeline does not exist.")


class HashtagNotFound(TimelineNotFound):
    """The text is not a valid hashtag. (A valid but unused hashtag has an empty timeline.)"""

    message = _("This is not a valid hashtag. A hashtag has only letters, digits and underscores.")


class PostInvalid(Invalid):
    """The text, or the post that it replies to, breaks a rule."""

    message = _("The post was not published.")


class TimeInvalid(PostInvalid):
    """The time of a scheduled post is no date and time."""

    api_message = _("Record invalid")


class PostHeld(Invalid):
    """Staff looks at the post before it is published. It is stored as a draft of its author."""

    code = "post_held"
    message = _("Your post waits for a look by the people who run this site. You find it among your drafts.")


class VoteInvalid(Invalid):
    message = _("Your vote was not counted.")


class PollEnded(Conflict):
    code = "poll_ended"
    message = _("This poll has ended.")


class AlreadyVoted(Conflict):
    code = "already_voted"
    message = _("You have already voted on this poll.")


class OneChoiceOnly(VoteInvalid):
    """The vote has several choices, but the poll allows only one."""

    api_message = AlreadyVoted.message


class DraftNotFound(NotFound):
    message = _("This draft does not exist, or no longer does.")


class DraftsCapReached(Conflict):
    code = "drafts_cap"
    message = _("You have as many drafts and scheduled posts as this site allows.")


class NotBoostable(Invalid):
    code = "not_boostable"
    message = _("Only public and unlisted posts can be boosted.")


class NotQuotable(Forbidden):
    code = "not_quotable"
    message = _("The author of this post does not allow you to quote it.")


class NotPinnable(Invalid):
    code = "not_pinnable"
    message = _("Only your own posts can be pinned.")


class PinsCapReached(Conflict):
    code = "pins_cap"
    message = _("Five posts are pinned already. Unpin one of them first.")


class IdempotencyConflict(Conflict):
    code = "idempotency_conflict"
    message = _("This key was already used for another post.")


class EditConflict(Conflict):
    code = "edit_conflict"
    message = _("The post was edited in between. Please check the newest version, then save again.")


class EditsCapReached(Conflict):
    code = "edits_cap"
    message = _("This post was edited as often as this site allows.")


class PostUnconfirmed(Unavailable):
    """The post is stored, but too few replicas have confirmed it (REQUIRE_REPLICAS)."""

    code = "unconfirmed"
    message = _("The post could not be confirmed yet. Please try again.")


class CannotFollowSelf(Invalid):
    code = "following_yourself"
    message = _("You cannot follow yourself.")


class FollowingCapReached(Conflict):
    code = "following_cap"
    message = _("You follow as many accounts as this site allows.")


class RequesterFollowingCapReached(Conflict):
    """The requester already follows FOLLOWING_CAP accounts. The follow request stays pending."""

    code = "requester_cap"
    message = _(
        "This account follows as many others as this site allows. You can accept its request once it follows fewer."
    )


class ListNotFound(NotFound):
    """The list is absent or deleted, or it belongs to another account."""

    message = _("This list does not exist.")


class ListTitleInvalid(Invalid):
    """The title is empty, has control characters, or is too long."""

    message = _("This title is not valid.")

    def __init__(self, title_message: LazyText | None = None) -> None:
        super().__init__({"title": title_message if title_message is not None else type(self).message})


class ListInvalid(Invalid):
    """A source or a setting of the list breaks a rule."""

    message = _("This combination of lists is not possible.")


class ListIsVirtual(Conflict):
    code = "virtual_list"
    message = _("This list combines other lists. Add people to those.")


class ListsCapReached(Conflict):
    code = "lists_cap"
    message = _("You have as many lists as this site allows.")


class ReportNotFound(NotFound):
    """The report does not exist, or it was deleted after its time."""

    message = _("This report does not exist, or no longer does.")


class AlreadyReported(Conflict):
    """The account has reported the same posts before, or has an open report of the account."""

    code = "already_reported"
    message = _("You have reported this before. Your reports show what came of it.")


class CannotDecideOwnReport(Forbidden):
    message = _("This report is about you. Another staff member decides it.")


class ReportClaimed(Conflict):
    code = "report_claimed"
    message = _("Another staff member is working on this report. You can take it over.")


class ReportClosed(Conflict):
    code = "report_closed"
    message = _("This report is closed already.")


class ListMembersCapReached(Conflict):
    code = "members_cap"
    message = _("This list has as many members as this site allows.")


class MemberLeftList(Conflict):
    """The account left this list when it was public."""

    code = "member_left"
    message = _("This account left the list and cannot be added again.")


class CannotBlockOrMuteSelf(Invalid):
    code = "relating_to_yourself"
    message = _("You cannot do this to yourself.")


class BlocksAndMutesCapReached(Conflict):
    """The account has BLOCKS_CAP blocks, MUTES_CAP mutes or HIDDEN_BOOSTS_CAP accounts with hidden boosts."""

    code = "relations_cap"
    message = _("You've blocked or muted as many accounts as this site allows.")


class MuteDurationInvalid(Invalid):
    message = _("This is not a number of seconds.")
    field = "duration"


class NotesCapReached(Conflict):
    code = "notes_cap"
    message = _("You have as many private notes as this site allows.")


class FollowedHashtagsCapReached(Conflict):
    code = "tags_cap"
    message = _("You follow as many hashtags as this site allows.")


class FollowRequestsCapReached(Conflict):
    code = "requests_cap"
    message = _("You have as many open follow requests as this site allows.")


class FilterNotFound(NotFound):
    message = _("This filter does not exist.")


class FilterInvalid(Invalid):
    """The phrase or another field of the filter breaks a rule."""

    message = _("This filter is not valid.")


class FiltersCapReached(Conflict):
    code = "filters_cap"
    message = _("You have as many filters as this site allows.")


class MediaNotFound(NotFound):
    """The picture is absent or deleted, belongs to another account, or the viewer may not see its post."""

    message = _("This picture does not exist, or no longer does.")


class MediaInvalid(Invalid):
    """The upload, its description or its focal point breaks a rule."""

    message = _("The picture was not uploaded.")


class MediaRefused(MediaInvalid):
    """The file is not a picture that this site accepts."""

    code = "media_refused"


class MediaQuotaReached(Conflict):
    """The account or the site has as many bytes of pictures as it may have."""

    code = "media_quota"
    message = _("You have as many pictures as this site allows. Delete posts with pictures to make room.")


class TransferNotFound(NotFound):
    """The account has no export or import with this id, or it has expired."""

    message = _("This archive does not exist, or no longer does.")


class TransfersCapReached(Conflict):
    code = "transfers_cap"
    message = _("You have as many exports and imports as this site allows. Try again in a few days.")


class TransferUnderWay(Conflict):
    code = "import_under_way"
    message = _("Another import is under way. Wait until it is finished.")


class ImportInvalid(Invalid):
    """The uploaded file is missing or too large."""

    message = _("Choose a file. A list has at most 20 MB.")
    field = "file"
