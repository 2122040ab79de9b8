"""The languages that a viewer reads decide about pages and about live entries alike."""

import pytest

from accounts.domain import Preferences
from socialsite.container import Services
from tests.support.noticing import ThreePeople
from timelines.posts.post import PostDetails
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


@pytest.mark.parametrize("context", [ViewContext.PUBLIC, ViewContext.HASHTAG])
async def test_live_entries_have_the_languages_of_each_reader(
    three: ThreePeople, services: Services, context: ViewContext
) -> None:
    author, german, all_languages = three
    await services.accounts.change_preferences(account_id=german.id, change=lambda _: Preferences(languages=("de",)))
    readers = [ViewerContext(id, context) for id in (None, author.id, german.id, all_languages.id)]
    readers.append(ViewerContext(german.id, ViewContext.PROFILE))
    shown = {}
    for language in ("de", "fr", None):
        post = await author.publishes("tea", details=PostDetails(language=language))
        entries = await services.pipeline.read_post_for_viewers(post.id, author.id, readers)
        shown[language] = [entry is not None for entry in entries]
    assert shown == {"de": [True] * 5, "fr": [True, True, False, True, True], None: [True] * 5}
