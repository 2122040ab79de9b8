"""The preview of a link is read from its page as browsers read pages.

Pages have the forms of mastodon/mastodon#9466, #29996 and #30362, whatwg/encoding#345, llun/activities.next#1521 and
mastodon/mastodon#40102: one odd value costs no preview. A title is not cut inside an emoji, as in
bluesky-social/social-app#11568.
"""

import time

import pytest

from timelines.previews.preview import LinkPreview, find_link, parse_page
from timelines.previews.queue import PAGE_MAX_BYTES


def test_the_first_link_to_another_site_is_chosen(settings: object) -> None:
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://own.com", ["own.com"]  # type: ignore[attr-defined]
    find_link.cache_clear()
    assert find_link("see https://own.com/@a/1/ or https://a.com/x. https://b.com/") == "https://a.com/x"
    settings.ALLOWED_HOSTS = [".own.com", "*"]  # type: ignore[attr-defined]
    find_link.cache_clear()
    assert find_link("https://www.own.com/ https://WWW.own.com/ http://own.com/ https://a.com/") == "https://a.com/"
    assert find_link("mailto:a@b.com, ftp://a.com/ and @a@b.com #c") is None
    find_link.cache_clear()


@pytest.mark.parametrize(
    ("page", "charset", "title", "description"),
    [
        ("<meta name=twitter:title content=Short><title>Long</title>", "", "Short", ""),
        ('<meta content="b" property="og:title"><meta property="og:title" content="c">', "", "b", ""),
        ("<TITLE>\n a\tb </TITLE>", "", "a b", ""),
        (
            '<meta property="og:title" content="a > b"><meta property=\'og:description\' content="it\'s">',
            "",
            "a > b",
            "it's",
        ),
        ("<meta charset=latin-1><title>caf\u00e9</title>", "latin-1", "café", ""),
        ("<title>" + "x" * 500 + "</title>", "", "x" * 150 + "…", ""),
        ("<title>" + "x" * 147 + "\U0001f468\u200d\U0001f469\u200d\U0001f467</title>", "", "x" * 147 + "…", ""),
        ("<title>" + "\U0001f1e9\U0001f1ea" * 76 + "</title>", "", "\U0001f1e9\U0001f1ea" * 75 + "…", ""),
        ("<title>a</title><script>&lt;</script>", "no-such-charset", "a", ""),
        ("<title>caf\u00e9</title>", "idna", "café", ""),
        ("<title>caf\u00e9</title>", "Punycode", "café", ""),
        ("<title>caf\u00e9</title>", "undefined", "café", ""),
        ("<title>a</title>", "base64", "a", ""),
        ("<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>", "", "<script>alert(1)</script>", ""),
        ("<title>\u202eabc\u2066</title>", "", "abc", ""),
        ("<title>a\x03b\ufffe &#3; c\u2028d</title>", "", "ab c d", ""),
        ("<title>" + "e\u0301" + "\u0301" * 30 + "</title>", "", "\u00e9" + "\u0301" * 7, ""),
    ],
)
def test_titles_and_descriptions_are_read_and_cleaned(page: str, charset: str, title: str, description: str) -> None:
    body = page.encode(charset if charset == "latin-1" else "utf-8")
    preview, _ = parse_page("https://a.example/", body, f"text/html; charset={charset}", 1)
    assert (preview.title, preview.description) == (title, description)


SERVED_AS = [
    ("iso-8859-1", b"<title>It\x92s \x93new\x94</title>", "It’s “new”"),
    ("us-ascii", b"<title>It\x92s \x93new\x94</title>", "It’s “new”"),
    ("ISO-8859-9", b"<title>\xfd\x92</title>", "ı’"), ("tis-620", b"<title>\xa1\x92</title>", "ก’"),
    ("shift_jis", b"<title>a \x87\x40</title>", "a ①"), ("euc-jp", b"<title>\xad\xa1</title>", "①"),
    ("euc-kr", b"<title>\x8c\x63</title>", "똠"), ("gb2312", b"<title>\xa2\xe3</title>", "€"),
    ("big5", b"<title>\x87\x40</title>", "䏰"), ("'UTF8'", "<title>é</title>".encode(), "é"),
    ("", b"<meta charset=utf-16><title>plain</title>", "plain"),
    ("", '<!-- charset=koi8-r --><meta charset="utf-8"><title>это</title>'.encode(), "это"),
    ("", "<script charset=koi8-r>'<meta charset=koi8-r>'</script><title>это</title>".encode(), "это"),
    ("", b"<meta content='text/html; charset=windows-1251' http-equiv=Content-Type><title>\xfd\xf2\xee</title>", "это"),
    ("", b'<?xml version="1.0" encoding="windows-1251"?><html><title>\xfd\xf2\xee</title>', "это"),
    ("", "<title>Lüne</title><meta name=description content='sä Ü".encode() + b"h\xc3...'>", "Lüne"),
    ("", b"<title>caf\xe9</title>", "café"), ("utf-7", b"<title>+AGE- \xe9</title>", "+AGE- é"),
    ("koi8-r", b"\xef\xbb\xbf<title>\xd1\x8d</title>", "э"), ("", "\ufeff<title>é</title>".encode("utf-16-le"), "é"),
    ("replacement", b"<title>a</title>", "a"), ("iso-2022-kr", b"<title>a</title>", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("charset", "body", "title"), SERVED_AS)
def test_a_page_is_decoded_as_browsers_decode_it(charset: str, body: bytes, title: str) -> None:
    """The label of a page is one of the Encoding Standard, and no codec of Python."""
    assert parse_page("https://a.example/", body, f"text/html; charset={charset}", 1)[0].title == title


@pytest.mark.parametrize(
    ("page", "title", "picture"),
    [
        ("<!-- <title>old</title><meta property=og:title content=old> --><title>new</title>", "new", ""),
        ("<script>'<title>js</title><meta property=og:title content=js>'</script><title>new</title>", "new", ""),
        ("<svg><title>icon</title></svg><title>1 < 2 </b> x</title>", "1 < 2 </b> x", ""),
        ("<input value='<meta property=og:title content=evil>'><title>new</title>", "new", ""),
        ("<meta property=og:title content=''><meta property=og:title content=b>", "b", ""),
        (
            "<title>t</title><meta property=og:image content='/p?a=1&copy=2&reg3&amp;x=&lt;'>",
            "t",
            "/p?a=1&copy=2&reg3&x=<",
        ),
        ("<title>t</title><meta property=og:image content='/p?&#38;&copy;&eacute'>", "t", "/p?&©é"),
        ("<META\nPROPERTY = 'og:title'\tCONTENT = \"a>b\"/>", "a>b", ""),
        ("<!--><title>x</title><!-- --!><textarea><title>y</title></textarea>", "x", ""),
        ("<title>cut", "cut", ""),
        ('<link title="it\'s"><title>new</title>', "new", ""),
        (
            "<meta property='og:title twitter:title' content=t><meta property=al:ios name=og:image content=/i>",
            "t",
            "/i",
        ),
        ("<title>t</title><meta property=og:image:url content=/u>", "t", "/u"),
        ("<title>t</title><meta name=twitter:image:src content=/s>", "t", "/s"),
    ],
)
def test_elements_are_read_as_browsers_read_them(page: str, title: str, picture: str) -> None:
    preview, picture_url = parse_page("https://a.example/", page.encode(), "text/html", 1)
    assert (preview.title, picture_url) == (title, picture)


@pytest.mark.parametrize("charset", ["", "punycode"])
@pytest.mark.parametrize(
    "part",
    [
        "<meta ",
        '<meta "',
        "<meta '",
        "<title>",
        "<!--",
        "<meta a='",
        '<meta content="a" ',
        "<",
        '"',
        "<title ",
        "&#",
        "a",
        "<a ",
        "<a b c=d>",
        "<script>",
        "<svg></svg>",
        "<meta charset ",
    ],
)
def test_no_page_makes_the_parser_slow(part: str, charset: str) -> None:
    body = (part * (PAGE_MAX_BYTES // len(part))).encode()
    began = time.process_time()
    parse_page("https://a.example/", body, f"text/html; charset={charset}", 1)
    assert time.process_time() - began < 3


def test_the_host_of_a_preview_cannot_imitate_another() -> None:
    assert LinkPreview("https://www.example.com/login").host == "example.com"
    assert LinkPreview("https://\u0430pple.com/").host == "xn--pple-43d.com"
