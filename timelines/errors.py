"""What can go wrong with posts, timelines, follows and lists.

One class a rule; services raise them. What HTTP status each becomes stands in ONE table,
socialsite/web/middleware/errors.py.
"""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from socialsite.errors import ApiError, LazyText


class TimelinesError(ApiError):
    """Base of every refusal of this app."""

    code = "timelines_error"


class PostNotFound(TimelinesError):
    """Absent, deleted, hidden, or another's: one answer, so that it tells nothing."""

    code = "not_found"
    message = _("This post does not exist, or no longer does.")


class TimelineNotFound(TimelinesError):
    """A timeline name that stands for nothing the reader may see."""

    code = "not_found"
    message = _("This timeline does not exist.")


class HashtagNotFound(TimelineNotFound):
    """What cannot be a hashtag; one that nobody has used yet is a timeline without entries."""

    message = _("This cannot be a hashtag. Hashtags are made of letters, digits and underscores.")


class PostInvalid(TimelinesError):
    """The text, or what it answers, breaks a rule: `fields` names which."""

    code = "invalid"
    message = _("The post was not published.")

    def __init__(self, fields: Mapping[str, LazyText], message: LazyText | None = None) -> None:
        super().__init__(message, fields=fields)


class NotBoostable(TimelinesError):
    """What only some may see is not carried on to others."""

    code = "not_boostable"
    message = _("Only posts that everybody may see can be boosted.")


class IdempotencyConflict(TimelinesError):
    """The same idempotency key came with another text."""

    code = "idempotency_conflict"
    message = _("This key was already used for another post.")


class PostUnconfirmed(TimelinesError):
    """The post is stored, but no replica has confirmed it yet (REQUIRE_REPLICAS); repeating is safe."""

    code = "unconfirmed"
    message = _("The post could not be confirmed yet. Please try again.")


class CannotFollowSelf(TimelinesError):
    """Oneself is always in one's own home; an edge to oneself would only count twice."""

    code = "following_yourself"
    message = _("You cannot follow yourself.")


class FollowingCapReached(TimelinesError):
    """FOLLOWING_CAP accounts are followed already."""

    code = "following_cap"
    message = _("You follow as many accounts as this site allows.")


class RequesterFollowingCapReached(TimelinesError):
    """Who asks follows FOLLOWING_CAP accounts: their request waits on."""

    code = "requester_cap"
    message = _(
        "This account follows as many others as this site allows. Its request waits here: "
        "you can accept it once it follows fewer."
    )


class ListNotFound(TimelinesError):
    """Absent, deleted, or another's."""

    code = "not_found"
    message = _("This list does not exist.")


class ListTitleInvalid(TimelinesError):
    """Empty, too long, or with control characters."""

    code = "invalid"
    message = _("This title cannot be used.")

    def __init__(self, title_message: LazyText | None = None) -> None:
        super().__init__(fields={"title": title_message if title_message is not None else type(self).message})


class ListInvalid(TimelinesError):
    """What it is made of, or a setting, breaks a rule: `fields` names which."""

    code = "invalid"
    message = _("This list cannot be made so.")

    def __init__(self, fields: Mapping[str, LazyText]) -> None:
        super().__init__(fields=fields)


class ListIsVirtual(TimelinesError):
    """Its members follow from the lists that it is made of."""

    code = "virtual_list"
    message = _("This list is made of others: put people on those.")


class ListsCapReached(TimelinesError):
    """LISTS_PER_ACCOUNT lists are the account's already."""

    code = "lists_cap"
    message = _("You have as many lists as this site allows.")


class ListMembersCapReached(TimelinesError):
    """LIST_MEMBERS_CAP accounts are on the list already."""

    code = "members_cap"
    message = _("This list has as many members as this site allows.")


class CannotBlockOrMuteSelf(TimelinesError):
    """Oneself cannot be blocked or muted."""

    code = "relating_to_yourself"
    message = _("You cannot do this to yourself.")


class BlocksAndMutesCapReached(TimelinesError):
    """BLOCKS_CAP, MUTES_CAP or QUIETED_CAP accounts are blocked, muted or quieted already."""

    code = "relations_cap"
    message = _("You keep away as many accounts as this site allows.")


class MuteDurationInvalid(TimelinesError):
    """The duration is none."""

    code = "invalid"
    message = _("This is not a number of seconds.")

    def __init__(self) -> None:
        super().__init__(fields={"duration": type(self).message})


class FollowedHashtagsCapReached(TimelinesError):
    """FOLLOWED_TAGS_CAP hashtags are followed already."""

    code = "tags_cap"
    message = _("You follow as many hashtags as this site allows.")


class FollowRequestsCapReached(TimelinesError):
    """REQUESTED_CAP of one's requests to follow wait for an answer."""

    code = "requests_cap"
    message = _("As many of your requests as this site allows wait for an answer.")


class FilterNotFound(TimelinesError):
    """No filter of this number."""

    code = "not_found"
    message = _("This filter does not exist.")


class FilterInvalid(TimelinesError):
    """The phrase cannot be filtered by, or another field breaks a rule: `fields` names which."""

    code = "invalid"
    message = _("This filter cannot be used.")

    def __init__(self, fields: Mapping[str, LazyText]) -> None:
        super().__init__(fields=fields)


class FiltersCapReached(TimelinesError):
    """FILTERS_CAP filters are the account's already."""

    code = "filters_cap"
    message = _("You have as many filters as this site allows.")
