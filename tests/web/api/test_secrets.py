"""No secret of OAuth reaches the log of the site."""

import logging

import pytest

from socialsite.container import Services
from tests.support.api import CHALLENGE, VERIFIER, OAuthClient
from tests.support.browser import HttpBrowser


async def test_no_token_or_code_is_logged(
    alice: HttpBrowser, visitor: HttpBrowser, site: Services, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    app = await OAuthClient.register(visitor.http)
    code = await app.get_code(alice, code_challenge=CHALLENGE, code_challenge_method="S256", state="secret-state")
    token = (await app.exchange(code, code_verifier=VERIFIER)).json()["access_token"]
    for path in ("/api/v1/accounts/verify_credentials", "/api/v1/nothing"):
        await visitor.http.get(path, headers={"Authorization": f"Bearer {token}"})
        await visitor.http.get(f"{path}?access_token={token}")
    await app.exchange("used", client_secret=app.secret + "x")
    own = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert any("token_issued" in message for message in own)
    for secret in (code, token, app.secret, VERIFIER, "secret-state"):
        assert not [message for message in own if secret in message]
