"""What clients of a site on loopback share: a TLS context without authorities, and the first token of a host."""

import ssl
from http.cookiejar import Cookie, CookieJar

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
