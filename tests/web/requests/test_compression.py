"""Pages are compressed for readers who accept it, unless a proxy does that."""

from tests.support.browser import JSON_HEADERS, HttpBrowser

GZIP = {"Accept-Encoding": "br, gzip"}


async def test_a_page_is_compressed_for_a_reader_who_accepts_it(alice: HttpBrowser) -> None:
    for number in range(10):
        await alice.publish(f"post {number}")
    plain = await alice.get("/public/", **{"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    compressed = await alice.get("/public/", **GZIP)
    assert compressed.headers["content-encoding"] == "gzip"
    assert int(compressed.headers["content-length"]) < len(plain.content) / 6
    assert len(compressed.text) == len(plain.text)
    for answer in (plain, compressed):
        assert "Accept-Encoding" in answer.headers["vary"]


async def test_the_length_of_a_compressed_page_varies_although_the_page_does_not(alice: HttpBrowser) -> None:
    answers = [await alice.get("/lists/", **GZIP) for _ in range(8)]
    assert len({answer.headers["content-length"] for answer in answers}) > 2
    assert len({len(answer.text) for answer in answers}) == 1


async def test_only_pages_are_compressed_and_a_proxy_may_do_it(alice: HttpBrowser, settings) -> None:
    assert "content-encoding" not in (await alice.http.get("/lists/", headers={**JSON_HEADERS, **GZIP})).headers
    assert "content-encoding" not in (await alice.get("/livez", **GZIP)).headers
    settings.COMPRESS_PAGES = False
    assert "content-encoding" not in (await alice.get("/lists/", **GZIP)).headers


async def test_an_answer_to_head_states_the_length_of_the_compressed_page(alice: HttpBrowser) -> None:
    answer = await alice.http.head("/lists/", headers=GZIP)
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.content == b""
