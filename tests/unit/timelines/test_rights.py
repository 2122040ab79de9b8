"""The short check of the visibility rule agrees with the check of each post."""

from hypothesis import given
from hypothesis import strategies as st

from accounts.domain import Author
from socialsite.ids import AccountId, PostId
from timelines.posts.post import FOLLOWERS, PUBLIC, UNLISTED, Post
from timelines.visibility.rights import ViewContext, ViewerRelations, may_see, sees_every_followed_post

PEOPLE = st.integers(1, 4).map(AccountId)
SOME = st.frozensets(PEOPLE, max_size=1)
READERS = (
    st.builds(ViewerRelations, PEOPLE, st.just(0), blocks=SOME, blocked_by=SOME, muted=SOME, boosts_hidden=SOME)
    | st.none()
)
AUTHORS = st.builds(
    Author, PEOPLE, st.just("ann"), st.just("Ann"), st.sampled_from(["active", "suspended", "deleted"]),
    st.just(1), st.booleans(),
)  # fmt: skip


@given(
    reader=READERS, author=AUTHORS, place=st.sampled_from(ViewContext),
    audience=st.sampled_from([PUBLIC, UNLISTED, FOLLOWERS]), answered=st.none() | PEOPLE,
)  # fmt: skip
def test_the_short_check_agrees_with_the_check_of_each_post(
    reader: ViewerRelations | None, author: Author, place: ViewContext, audience: int, answered: AccountId | None
) -> None:
    post = Post(PostId(9), author.id, "words", audience=audience, reply_to_author_id=answered)
    if sees_every_followed_post(reader, place):
        assert may_see(post, author, viewer=reader, follows=True, context=place) == author.is_visible


def test_viewers_without_blocks_or_mutes_see_every_followed_post_only_at_home() -> None:
    plain = ViewerRelations(AccountId(1), 0)
    assert [place for place in ViewContext if sees_every_followed_post(plain, place)] == [ViewContext.HOME]
    assert not sees_every_followed_post(None, ViewContext.HOME)
    assert not sees_every_followed_post(
        ViewerRelations(AccountId(1), 0, boosts_hidden=frozenset({AccountId(2)})), ViewContext.HOME
    )
