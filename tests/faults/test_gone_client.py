"""A client that is gone before its upload was read is no defect: the log has no defect, and the site continues."""

import os
import signal
import socket
from contextlib import suppress

import pytest

from tests.faults.test_full_media_disk import newcomer, noise, upload
from tests.support.redis_server import RedisServer
from tests.support.sites import running_site

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_an_upload_whose_client_is_gone_is_no_defect(server: RedisServer, share: float) -> None:
    """`share` of the body arrives while the web process stands still, and then the client closes the connection."""
    head = b"--gone\r\nContent-Disposition: form-data; name=file; filename=a.png\r\nContent-Type: image/png\r\n\r\n"
    body = head + noise(500) + b"\r\n--gone--\r\n"
    with running_site(server.url) as site:
        person = newcomer(site.url)
        person.publishes("first")
        cookies = "; ".join(f"{name}={value}" for name, value in person.http.cookies.items())
        request = (
            "POST /media/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Cookie: {cookies}\r\nX-CSRFToken: {person.http.cookies['csrftoken']}\r\n"
            f"Content-Type: multipart/form-data; boundary=gone\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        for _ in range(6):
            os.kill(site.web_pid, signal.SIGSTOP)
            try:
                with socket.create_connection(("127.0.0.1", site.port)) as client:
                    client.settimeout(0.3)
                    with suppress(TimeoutError):  # the kernel takes what its buffers hold
                        client.sendall(request + body[: int(len(body) * share)])
            finally:
                os.kill(site.web_pid, signal.SIGCONT)
        person.publishes("the site goes on")
        assert upload(person).status_code < 400
        assert "Traceback" not in site.log
        assert "Internal Server Error" not in site.log
