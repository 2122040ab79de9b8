"""Texts that the rules of the site refuse: blocked words, and links to blocked hosts.

Words match as in keyword filters that match whole words (timelines/visibility/filter.py). A text is compared only with
the blocked words whose first word it contains, so that most texts cost one set operation.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from accounts.errors import FieldErrors
from socialsite.service import Part
from socialsite.site.hosts import compile_hosts, is_blocked_host
from socialsite.site.service import SiteService
from timelines.errors import PostInvalid
from timelines.posts.post import PostDetails, texts_of
from timelines.text.linkify import find_urls
from timelines.text.tokenizer import is_unspaced, split_words
from timelines.visibility.filter import KeywordFilter, find_filters


@lru_cache(maxsize=4)
def compile_words(words: tuple[str, ...]) -> Mapping[str, list[KeywordFilter]]:
    """Return filters of the words by their first word, or by "" if they have none, such as an emoji."""
    filters: dict[str, list[KeywordFilter]] = {}
    for number, word in enumerate(words):
        if word.strip():
            filters.setdefault(next(iter(_lookup_words(word)), ""), []).append(KeywordFilter(number, word, "hide"))
    return filters


def _lookup_words(text: str) -> set[str]:
    """Return the words of a text. In scripts without spaces they are characters without their marks, because a blocked
    word may end before a mark."""
    return {word[0] if is_unspaced(word) else word for word in split_words(text)}


class BlockedContent(Part):
    """Checks texts by the newest rules of the site."""

    site: SiteService

    def find_reason(self, text: str) -> str:
        """Return the reason why the site refuses the text, or "". It does not name the blocked word or host."""
        settings = self.site.settings
        if settings.blocked_words and text:
            filters = compile_words(settings.blocked_words)
            first_words = filters.keys() & _lookup_words(text)
            suspects = [each for word in (*first_words, "") for each in filters.get(word, ())]
            if suspects and find_filters(suspects, text, 0):
                return _("This text has a word that this site does not allow.")
        if settings.blocked_hosts and "." in text.translate(_DOTS):
            blocked = compile_hosts(settings.blocked_hosts)
            if any(is_blocked_host(_host_of(url), blocked) for url in find_urls(text)):
                return _("This text has a link to a site that this site does not allow.")
        return ""

    def check_post(self, text: str, details: PostDetails) -> None:
        """Raise PostInvalid if a text of the post is refused."""
        if reasons := self._find_reasons(texts_of(text, details)):
            raise PostInvalid(reasons)

    def check_profile(self, texts: Mapping[str, str]) -> None:
        """Raise FieldErrors if a text of a profile is refused."""
        if reasons := self._find_reasons(texts.items()):
            raise FieldErrors(reasons)

    def _find_reasons(self, texts: Iterable[tuple[str, str]]) -> dict[str, str]:
        return {name: reason for name, text in texts if (reason := self.find_reason(text))}


_DOTS = str.maketrans("。．｡", "...")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""
