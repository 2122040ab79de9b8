"""Links, mentions and hashtags of a text, and their HTML."""

import re
from html import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounts.accounts.validation import InvalidHandle, normalize_handle
from socialsite import site_host
from socialsite.characters import readable_url
from tests.support.markup import Markup
from timelines.search.query import parse_query
from timelines.text import token_scanner
from timelines.text.linkify import REL, display_url, find_all_hashtags, find_hashtags, find_mentions, linkify
from timelines.text.token_scanner import LINKS_CAP, normalize_tag, scan


def hrefs(text: str) -> list[str]:
    return [anchor.attributes["href"] for anchor in Markup(linkify(text)).anchors]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://fa.example.org/wiki/نیم\u200cفاصله و متن", "https://fa.example.org/wiki/نیم\u200cفاصله"),
        ("https://ko.example.org/wiki/서울 가자", "https://ko.example.org/wiki/서울"),
        ("https://example.org/?q=ไทย.", "https://example.org/?q=ไทย"),
        ("https://example.org/क्\u200dष#x", "https://example.org/क्\u200dष#x"),
        ("https://example.org/a\u00adb\u2060c", "https://example.org/a\u00adb\u2060c"),
        ("「https://example.org/東京」です", "https://example.org/東京"),
        ("https://example.org/東京。次", "https://example.org/東京"),
        ("\u2068https://example.org/a\u2069 b", "https://example.org/a"),
        ("https://example.org/a\u200e", "https://example.org/a"),
        ("https://example.org/a\u200c b", "https://example.org/a"),
        ("https://ar.example.org/س، ثم", "https://ar.example.org/س"),
        ("https://ar.example.org/س؟", "https://ar.example.org/س"),
        ("https://ur.example.org/اردو۔", "https://ur.example.org/اردو"),
        ("https://hi.example.org/हिन्दी।", "https://hi.example.org/हिन्दी"),
        ("https://hy.example.org/Հայ։", "https://hy.example.org/Հայ"),
        ("https://am.example.org/ሰላም።", "https://am.example.org/ሰላም"),
        ("„https://example.org/a“", "https://example.org/a"),
        ("‹https://example.org/a›", "https://example.org/a"),
        # mastodon/mastodon#25150, twitter/twitter-text#57, gregjacobs/Autolinker.js#120 and #303: copied from browsers
        ("https://example.org/?titles=A|B&x", "https://example.org/?titles=A|B&x"),
        ("https://example.org/map?data=a^name=b.", "https://example.org/map?data=a^name=b"),
        ("https://example.org/?id={E35F-9954} ok", "https://example.org/?id={E35F-9954}"),
        ("{https://example.org/a}", "https://example.org/a"),
        ("|https://example.org/a|", "https://example.org/a"),
        ("https://example.org/a{b", "https://example.org/a"),
    ],
)
def test_a_path_has_letters_of_every_script_and_joiners(text: str, url: str) -> None:
    assert hrefs(text) == [url]


@pytest.mark.parametrize(
    ("text", "handles"),
    [
        ("ask @alice.bsky.example about it", []),
        ("@alice-x", []),
        ("@alice.bücher.example @alice.пример.рф", []),
        ("my address is @alice:matrix.example", []),  # Matrix, appendices, user identifiers
        ("npm install @alice/tools", []),
        ("@alice:hello @bob: see example.org", ["alice", "bob"]),
        ("@alice/@bob", ["alice", "bob"]),
        ("**@alice** *@bob* hey!@carol", ["alice", "bob", "carol"]),  # block/buzz#3917
        ("a*@alice.example !@bob.example", []),
        ("@alice.日本語", ["alice"]),
        ("ask @alice. Then @bob...because", ["alice", "bob"]),
        ("@alice - @bob-", ["alice", "bob"]),
    ],
)
def test_a_name_with_a_domain_is_no_mention(text: str, handles: list[str]) -> None:
    assert find_mentions(text) == handles


def test_links_and_mentions_do_not_decide_the_direction_of_a_text() -> None:
    assert linkify("@a https://example.org #tag").count(' dir="ltr">') == 3
    assert "dir=" not in linkify("#\u0633\u0644\u0627\u0645")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://аррӏе.com/аррӏе", "xn--80ak6aa92e.com/аррӏе"),  # Cyrillic letters only
        ("https://gооgle.com", "xn--ggle-55da.com"),
        ("https://bücher.de", "bücher.de"),
        ("https://пример.рф/путь", "пример.рф/путь"),
        ("https://россия.com", "россия.com"),
        ("https://東京タワーtokyo.jp", "東京タワーtokyo.jp"),
    ],
)
def test_a_host_that_imitates_another_host_is_shown_in_punycode(url: str, text: str) -> None:
    assert display_url(url) == text
    assert f'href="{url}"' in linkify(url)
    assert readable_url(url) == f"https://{text}"


def test_only_the_first_hashtags_of_a_text_are_indexed_and_all_are_links() -> None:
    text = " ".join(f"#tag{number}" for number in range(30))
    assert find_hashtags(text) == [f"tag{number}" for number in range(20)]
    assert len(find_all_hashtags(text)) == len(hrefs(text)) == 30


def test_a_link_keeps_its_address_and_displays_it_without_the_scheme() -> None:
    html = linkify("see https://a.org/a?b=1&c=2.")
    assert (
        html == f'see <a class="link" href="https://a.org/a?b=1&amp;c=2" rel="{REL}" dir="ltr">'
        '<span class="invisible">https://</span>a.org/a?b=1&amp;c=2</a>.'
    )


def test_a_mention_leads_to_the_profile_and_a_hashtag_to_its_timeline() -> None:
    assert hrefs("@Alice likes #Redis and #Straße, ＠bob ＃日本") == [
        "/@alice/",
        "/tags/redis/",
        "/tags/strasse/",
        "/@bob/",
        "/tags/%E6%97%A5%E6%9C%AC/",
    ]
    assert find_mentions("@Alice @bob, @alice") == ["alice", "bob"]
    assert find_hashtags("#One #two #ONE ＃ｔｗｏ") == ["one", "two"]


def test_line_breaks_of_the_author_are_preserved() -> None:
    assert linkify("one\n\n<two>") == "one<br><br>&lt;two&gt;"


def test_a_long_address_is_cut_in_its_path_and_never_in_its_host() -> None:
    assert display_url("https://example.com/" + "a" * 50 + "/end.html") == "example.com/aaaaaaaaaaaaaaaaaa…/end.html"
    host = "accounts.example.com." + "x" * 60 + ".evil.net"
    assert display_url(f"https://{host}/{'a' * 90}").startswith(host + "/")
    assert len(display_url("https://example.com/" + "a" * 900)) <= 40


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "ftp://example.com/ mailto:a@example.com //example.com",
        "http://bank.com@evil.com/ http://bank.com:80@evil.com/ https://user:pass@example.com",
        r"http://bank.com\@evil.com",
        "http://256.1.1.1/ http://localhost/ http://[::1]/ http://example.notatld/",
        "someone@example.com a@b@c.com @one@two.social",
        "main.py README.md done.In the date.now() 10.am 192.168.1.1 e.g. a.b",
        "&#39; &amp; a#b #1 #_ @ # @@alice @aliceìnheiro @abcdefghijklmnopqrstu",
    ],
)
def test_these_texts_are_not_links(text: str) -> None:
    assert linkify(text) == escape(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("www.example.com", "https://www.example.com"),
        ("example.com/path", "https://example.com/path"),
        ("docs.rs/tokio", "https://docs.rs/tokio"),
        ("http://10.0.0.1:8080/x", "http://10.0.0.1:8080/x"),
        ("HTTPS://EXAMPLE.COM", "HTTPS://EXAMPLE.COM"),
        ("(http://example.com/a_(b))", "http://example.com/a_(b)"),
        ("«http://example.com/»", "http://example.com/"),
        ("'http://example.com/it's'", "http://example.com/it's"),
        ("これはhttp://example.comです", "http://example.com"),
        ("http://example.com/\u202egpj.exe", "http://example.com/"),
    ],
)
def test_these_texts_are_links(text: str, address: str) -> None:
    assert hrefs(text) == [address]


def test_a_text_has_a_bounded_number_of_links() -> None:
    assert len(hrefs("@a " * (LINKS_CAP + 50))) == LINKS_CAP


@pytest.mark.parametrize("raw", ["", "12", "_", "a b", "a" * 101, "ﷺ", "a/b", "a" * 99 + "ﬃ", "\u200d", "#a"])
def test_these_texts_are_not_hashtags(raw: str) -> None:
    assert normalize_tag(raw) is None


LATIN = "@ # http:// https:// www. a.com / ( ) [ ] . ? &amp; <b> \" ' alice 12 _ - : \\ javascript:".split()  # noqa: SIM905
OTHERS = ["＠", "＃", "é", "あ", "日本", "\u202e", "\n", " ", "\u200d", "\ufe0f"]
PIECES = st.sampled_from(LATIN + OTHERS)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))


@given(TEXTS)
@example('http://foo.com/("onclick="alert(1)")')
def test_the_html_contains_only_links_and_line_breaks(text: str) -> None:
    markup = Markup(linkify(text))
    assert markup.problems == []
    for anchor in markup.anchors:
        assert anchor.attributes["rel"] == REL
        assert re.match(r"https?://[^/]|/@[a-z0-9_]{1,20}/\Z|/tags/[^/]+/\Z", anchor.attributes["href"], re.IGNORECASE)


@given(TEXTS)
@example("evil.com/#://bank.com")  # only the beginning is a scheme
def test_the_joined_pieces_equal_the_text_and_the_html_displays_them(text: str) -> None:
    pieces = list(scan(text))
    assert "".join(piece.raw for piece in pieces) == text
    markup = Markup(linkify(text))
    displayed_text = "".join(display_url(piece.raw) if piece.kind == "url" else piece.raw for piece in pieces)
    assert markup.visible_text == displayed_text
    assert markup.text == "".join(readable_url(piece.raw) if piece.kind == "url" else piece.raw for piece in pieces)


@given(TEXTS)
def test_counted_mentions_and_hashtags_are_linked(text: str) -> None:
    kinds = [anchor.attributes["class"] for anchor in Markup(linkify(text)).anchors]
    assert len(find_mentions(text)) <= kinds.count("mention")
    assert all(normalize_tag(tag) == tag for tag in find_hashtags(text))


@pytest.mark.parametrize(
    ("text", "handles"),
    [
        ("@Bob@social.example", ["bob"]),
        ("＠bob＠SOCIAL.example, hello", ["bob"]),
        ("Ask @bob@social.example. @eve too", ["bob", "eve"]),
        ("(@bob@social.example)", ["bob"]),
        ("@bob@social.example:8443", ["bob"]),
        ("@bob@social.example:80", []),
        ("@bob@social.example.org", []),
        ("@bob@social.example-two", []),
        ("@bob@social.example@social.example", []),
        ("@bob@elsewhere.example", []),
        ("@bob@social", []),
        ("a@bob@social.example", []),
    ],
)
def test_a_mention_with_the_own_host_leads_to_the_profile(monkeypatch: pytest.MonkeyPatch, text, handles) -> None:
    monkeypatch.setattr(site_host, "_hosts", ())
    site_host.set_own_site("https://social.example:8443")
    assert find_mentions(text) == handles
    assert hrefs(text) == [f"/@{handle}/" for handle in handles]
    assert Markup(linkify(text)).text == text


def test_a_typed_name_with_the_begin_of_the_own_host_is_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_host, "_hosts", ())
    site_host.set_own_site("https://social.example")
    names = ("bob", "bob@", "bob@Soc", "bob@social.example", "bob@elsewhere")
    assert [token_scanner.remove_begun_host(name) for name in names] == ["bob"] * 4 + ["bob@elsewhere"]


def test_the_own_host_may_be_typed_in_its_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_host, "_hosts", ())
    site_host.set_own_site("https://xn--bcher-kva.example:8443")
    for host in ("bücher.example", "Bücher.example:8443", "xn--bcher-kva.example"):
        assert site_host.remove_own_host(f"bob@{host}") == "bob"


@pytest.mark.parametrize("typed", ["bob", "Bob@social.example", "BOB@Social.Example:8443", "ｂｏｂ＠social.example"])
def test_a_handle_may_have_the_own_host(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr(site_host, "_hosts", ())
    site_host.set_own_site("https://social.example:8443")
    assert normalize_handle(typed) == "bob"
    assert parse_query(f"from:@{typed}").author == "bob"
    for other in ("bob@social.exampl", "bob@other.example", "bob@"):
        with pytest.raises(InvalidHandle):
            normalize_handle(other)
