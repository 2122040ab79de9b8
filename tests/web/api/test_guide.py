"""The commands of docs/guide/api.md run as they are written, by bash, curl and jq."""

import asyncio
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.settings import TEST_PROCESS
from tests.support.api import OUT_OF_BAND, OAuthClient
from tests.support.browser import HttpBrowser
from tests.support.daphnes import ROOT
from tests.support.pictures import picture
from tests.support.programs import need
from tests.support.sites import ProductionSite, running_site

GUIDE = (ROOT / "docs" / "guide" / "api.md").read_text().partition("## Bots and scripts")[0]
PASSWORD = "alice-in-wonderland"
STREAM_S = 5
TIMEOUT_S = 120


def read_script(site: ProductionSite) -> str:
    """Return the commands. The stream ends after some seconds, and the last example is an error by intent."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", GUIDE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 11
    blocks[9] = f"{blocks[9].strip()} -m {STREAM_S} || test $? = 28\n"
    script = "\n".join(["set -euo pipefail", *blocks])
    assert "SITE=http://127.0.0.1:8000\n" in script
    return script.replace("http://127.0.0.1:8000\n", f"{site.url}\n")


async def get_code(site: ProductionSite, address: str) -> str:
    """Do in a browser what step 2 says, and return the code of the page."""
    query = dict(parse_qsl(urlsplit(address).query))
    async with HttpBrowser(base_url=site.url) as browser:
        await browser.get("/accounts/login/")
        assert (await browser.log_in("alice", PASSWORD)).status_code == 200
        registration = {"client_id": query["client_id"], "client_secret": ""}
        app = OAuthClient(browser.http, registration, OUT_OF_BAND, query["scope"])
        page = await app.authorize(browser)
        assert page.status_code == 200, page.text
        return page.text.partition('id="code"')[2].partition('value="')[2].partition('"')[0]


@pytest.mark.nightly
async def test_the_commands_of_the_guide_work(redis_url: str, tmp_path: Path) -> None:
    need("curl", "jq")
    (tmp_path / "picture.jpg").write_bytes(picture())
    folders = {"MEDIA_ROOT": str(tmp_path / "media"), "MEDIA_ROOT_OF": TEST_PROCESS, "HTTPS": "0"}
    (tmp_path / "media").mkdir()
    with running_site(redis_url, **folders) as site:
        for handle in ("alice", "bob"):
            site.manage("create_account", handle, "--password", PASSWORD)
        (tmp_path / "guide.sh").write_text(read_script(site))
        bash = await asyncio.create_subprocess_exec(
            "bash", "guide.sh", cwd=tmp_path, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert bash.stdout is not None
        assert bash.stdin is not None
        async with asyncio.timeout(TIMEOUT_S):
            address = (await bash.stdout.readline()).decode().strip()
            bash.stdin.write(f"{await get_code(site, address)}\n".encode())
            output, errors = (text.decode() for text in await bash.communicate())
    assert bash.returncode == 0, (output, errors)
    assert '"acct": "alice"' in output
    assert re.search(r"^link: .*rel=\"next\"|^link: .*rel=\"prev\"", output, flags=re.MULTILINE | re.IGNORECASE)
    assert output.count(f"{site.url}/@alice/") >= 2
    assert "null" not in output.partition('"acct"')[2].partition('{"error"')[0]
    assert '{"error":"Validation failed' in output
