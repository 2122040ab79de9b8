"""Counts the accounts that react to a post, and stores the rankings of popular posts by language.

All keys have the tag {popular}, so that one script unites the rankings of several languages. Twemproxy
supports scripts, but not ZUNION.
"""

from collections.abc import Collection, Mapping
from typing import Final

from socialsite.ids import AccountId, PostId
from socialsite.recipes.distinct_ranking import DistinctRanking, RankingSpec
from socialsite.store import Command, Read, Store, load_script
from timelines import keys

REPLACE, PAGE = (load_script(f"{name}.lua", __package__) for name in ("replace_ranking", "ranking_page"))
USES_CAP: Final = 50_000
POSTS_PER_INTERVAL_CAP: Final = 300
POPULAR = RankingSpec("popular", 2 * 3_600, 24, 8 * 3_600.0, USES_CAP, POSTS_PER_INTERVAL_CAP)
"""An account counts once in two days for each post. A reaction that is eight hours old counts half."""
RANKING_CAP: Final = 100
PREFERENCE: Final = 10
ALL_LANGUAGES, NO_LANGUAGE = "all", "none"

Ranking = Mapping[PostId, float]
"""Post id -> weight."""


class PopularPosts:
    def __init__(self, store: Store) -> None:
        self._series = store.component("series")
        self._counts = DistinctRanking(store, POPULAR)

    async def count(self, account_id: AccountId, post_id: PostId, at_ms: int) -> bool:
        """Count the account for the post. Return False if it was counted before. The call may be repeated."""
        return bool(await self._counts.count(account_id, [post_id], at_ms))

    async def withdraw(self, account_id: AccountId, post_id: PostId) -> bool:
        return await self._counts.withdraw(account_id, post_id)

    async def candidates(self, now_ms: int, limit: int) -> dict[PostId, float]:
        """Return the posts with the highest weights, the highest first. Some may be hidden or deleted."""
        return {PostId(int(each.member)): each.weight for each in await self._counts.top(now_ms, limit)}

    async def replace(self, rankings: Mapping[str, Ranking]) -> None:
        """Replace the rankings of all languages. The ranking of an absent language is deleted."""
        index = keys.popular_languages()
        old = [member.decode() for member in await self._series[index].execute("ZRANGE", index, 0, -1)]
        empty: dict[str, Ranking] = {language: {} for language in old}
        sizes = {language: len(ranking) for language, ranking in rankings.items() if ranking}
        commands: list[Command] = [
            REPLACE.command([keys.popular_posts(language)], [POPULAR.window_ms, *_pairs(ranking)])
            for language, ranking in (empty | dict(rankings)).items()
        ]
        commands.append(REPLACE.command([index], [POPULAR.window_ms, *_pairs(sizes)]))
        await self._series[index].execute_all(commands)

    def read(self, languages: Collection[str], preferred: str, offset: int, limit: int) -> Read[list[PostId]]:
        """Return the ids of the most popular posts in some languages and of posts without a language.

        Without languages, return posts in all of them; those in the preferred language weigh PREFERENCE times more.
        """
        names = (*languages, NO_LANGUAGE) if languages else (ALL_LANGUAGES, *filter(None, [preferred]))
        weights = [1] * len(names) if languages else [1, PREFERENCE - 1][: len(names)]
        page = PAGE.command(list(map(keys.popular_posts, names)), [offset, limit, *weights])
        return Read([page], lambda replies: [PostId(int(each)) for each in replies[0]], self._series)


def _pairs(scores: Mapping[PostId, float] | Mapping[str, int]) -> list[str | float]:
    return [part for member, score in scores.items() for part in (score, str(member))]
