"""A user of a running site by its public interface alone: forms with their token, JSON answers."""

import itertools
import ssl
from collections.abc import Iterator
from http.cookiejar import Cookie, CookieJar
from types import TracebackType
from typing import Any, Self

import httpx

PLAIN_HTTP = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

"""For clients of http:// addresses. Each default context of httpx reads all authorities, which takes 20 ms."""

TOKEN_COOKIE = "csrftoken"

_token_cookies: dict[str, Cookie] = {}

"""Host -> the first CSRF cookie that the site set there."""


def reuse_token_cookie(host: str, jar: CookieJar) -> bool:
    """Give a client the CSRF cookie of an earlier client, as if it had opened a page. Return whether there is one.

    The site compares the cookie with the token of the request, and stores neither.
    """
    if cookie := _token_cookies.get(host):
        jar.set_cookie(cookie)
    return cookie is not None


def record_token_cookie(host: str, jar: CookieJar) -> None:
    """Record the CSRF cookie that the site set."""
    _token_cookies.update((host, cookie) for cookie in jar if cookie.name == TOKEN_COOKIE)


PASSWORD = "rather long words 9"

JSON_HEADERS = {"Accept": "application/json"}

JsonObject = dict[str, Any]


class HttpVisitor:
    """One person with one device: it stores cookies and follows no redirects.

    `address`: the client address, for a site that trusts this machine as a proxy (TRUSTED_PROXIES).
    """

    def __init__(self, url: str, handle: str = "", *, address: str = "", timeout_s: float = 20.0) -> None:
        self.handle = handle
        self.headers = {"X-Forwarded-For": address} if address else {}
        self.http = httpx.Client(
            base_url=url, headers=self.headers, timeout=timeout_s, trust_env=False, verify=PLAIN_HTTP
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.http.close()

    def post(self, path: str, **fields: object) -> httpx.Response:
        """Post JSON and request JSON, with the token in its header. Never retries."""
        host, jar = self.http.base_url.host, self.http.cookies.jar
        if not self._token and not reuse_token_cookie(host, jar):
            self.http.get("/accounts/login/")
            record_token_cookie(host, jar)
        return self.http.post(path, json=fields, headers={**JSON_HEADERS, "X-CSRFToken": self._token})

    def get(self, path: str) -> JsonObject:
        """Return the JSON of a page. Fails unless the status is 200."""
        answer = self.http.get(path, headers=JSON_HEADERS)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:300]}"
        page: JsonObject = answer.json()
        return page

    def sign_up(self) -> Self:
        answer = self.post("/accounts/signup/", handle=self.handle, password1=PASSWORD, password2=PASSWORD)
        assert answer.status_code == 201, answer.text
        return self

    def publishes(self, text: str, **fields: object) -> JsonObject:
        answer = self.post("/posts/", text=text, **fields)
        assert answer.status_code == 201, f"{answer.status_code} {answer.text[:300]}"
        post: JsonObject = answer.json()
        return post

    def publishes_until_refused(self) -> int:
        """Fill the site's memory with posts; return the number of acknowledged posts."""
        for number in range(20_000):
            answer = self.post("/posts/", text=f"{number} {'x' * 450}")
            if answer.status_code != 201:
                assert answer.status_code == 503, answer.text
                assert int(answer.headers["retry-after"]) > 0
                return number
        raise AssertionError("there was room for all")

    def deletes(self, post: JsonObject) -> None:
        answer = self.post(f"/posts/{post['id']}/delete/")
        assert answer.status_code == 200, answer.text

    def follows(self, handle: str) -> None:
        answer = self.post(f"/@{handle}/follow/")
        assert answer.status_code == 200, answer.text

    def pages(self, path: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield the path and the content of each page of a timeline, newest first."""
        following: str | None = f"{path}?limit=100"
        while following:
            page = self.get(following)
            yield following, page
            following = page["next"]

    def timeline(self, path: str) -> list[JsonObject]:
        """Return every post of a timeline, newest first."""
        return [post for _, page in self.pages(path) for post in page["posts"]]

    @property
    def _token(self) -> str:
        return self.http.cookies.get(TOKEN_COOKIE) or ""


def sign_up_circle(url: str, prefix: str, size: int) -> list[HttpVisitor]:
    """Sign up accounts that follow each other; from now on posts are pushed into their homes."""
    people = [HttpVisitor(url, f"{prefix}{number}", timeout_s=15).sign_up() for number in range(size)]
    for one, other in itertools.permutations(people, 2):
        one.follows(other.handle)
    for one in people:
        one.get("/")
    return people
