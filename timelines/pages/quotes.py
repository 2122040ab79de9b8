"""Presents the post that a post quotes. A hidden post leaves a sentence, and nothing of its content."""

from typing import Final

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override
from msgspec import structs

from socialsite.byte_cache import MB, byte_cached
from timelines.pages.page import Quote, QuoteState
from timelines.pages.pictures import pictures_context

CACHE_BYTES, KEY_BYTES = 4 * MB, 4_000
GAP_TEXTS: Final[dict[QuoteState, object]] = {
    "revoked": _("The author has removed their post from this quote."),
    "deleted": _("The quoted post was deleted."),
    "unauthorized": _("You cannot see the quoted post."),
    "accepted": _("Hidden by your filter: %(phrase)s"),
    "muted_account": _("You muted @%(handle)s."),
    "blocked_account": _("You blocked @%(handle)s. You don't see each other's posts."),
}


def gap_text(quote: Quote) -> str:
    """Return the sentence in the place of a quoted post that is not shown."""
    post = quote.post
    values = {} if post is None else {"handle": post.author.handle, "phrase": post.filter_phrase}
    return str(GAP_TEXTS[quote.state]) % values


@byte_cached(CACHE_BYTES, entry_bytes=KEY_BYTES)
def render_quote(quote: Quote, url: str, text_html: str, lines_html: str, language: str) -> str:
    """Return the HTML of a quoted post, whose page is `url`. The cache key contains everything that the HTML shows."""
    context: dict[str, object] = {"gap": ""}
    if (shown := quote.shown) is None:
        with override(language or None):
            context["gap"] = gap_text(quote)
    else:
        post, extra = shown.post, shown.post.extra
        context |= {
            "author": shown.author,
            "url": url,
            "created_ms": post.created_ms,
            "text_html": SafeString(text_html.replace("<br>", "\n")),
            "lines_html": SafeString(lines_html),
            "warning": extra.spoiler_text,
            "is_folded": extra.is_folded,
            "language": extra.language,
            "edited_ms": extra.edited_ms,
            "has_poll": extra.poll is not None,
            "has_quote": extra.quote_of is not None,
            "more_pictures": max(0, len(extra.media) - 1),
            **pictures_context(
                structs.replace(post, details=structs.replace(extra, media=extra.media[:1])), shown.author
            ),
        }
    with override(language or None):
        return render_to_string("timelines/_quote.html", context) + ""  # a plain `str`, which JSON accepts
