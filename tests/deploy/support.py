"""Run the files of deploy/ in tests, with other ports and paths, test passwords and a new certificate."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.programs import need

BASE_DIR = Path(__file__).resolve().parents[2]
DEPLOY = BASE_DIR / "deploy"
HOST = "localhost"
"""Replaces the name of the site. It must be a name: TLS clients send no address."""
HASHED_FILE = "css/site.0123456789ab.css"
HTTP2_DIRECTIVE_SINCE = (1, 25, 1)
"""The first nginx with `http2 on`."""
PASSWORDS = {role: f"password-of-{role}" for role in ("web", "worker", "operator", "admin", "replica", "sentinel")}


def users_file(directory: Path) -> Path:
    """Write users.acl with make-users."""
    passwords = {f"{role.upper()}_PASSWORD": password for role, password in PASSWORDS.items()}
    result = subprocess.run(
        [str(DEPLOY / "redis/make-users")], env={**os.environ, **passwords}, check=True, capture_output=True, text=True
    )
    file = directory / "users.acl"
    file.write_text(result.stdout)
    return file


def certificate(directory: Path) -> tuple[Path, Path]:
    key, certificate_path = directory / "privkey.pem", directory / "fullchain.pem"
    openssl = need("openssl")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
         "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", str(key), "-out", str(certificate_path)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return key, certificate_path


def for_this_nginx(site: str) -> str:
    """Return the site's file as the guide changes it for an old nginx."""
    version = subprocess.run([need("nginx"), "-v"], capture_output=True, text=True, check=True).stderr
    number = re.search(r"nginx/([\d.]+)", version)
    assert number, version
    if tuple(map(int, number[1].split("."))) >= HTTP2_DIRECTIVE_SINCE:
        return site
    script = re.search(r"sed -i '([^']+)' \S+socialsite\.conf", (BASE_DIR / "docs/guide/install.md").read_text())
    assert script
    return subprocess.run(["sed", script[1]], input=site, capture_output=True, text=True, check=True).stdout


def nginx_files(directory: Path, *, upstream: int, plain: int, tls: int, without_tls: bool = False) -> Path:
    """Write an nginx.conf that includes the site on these ports, without limits per address.

    `without_tls`: port `tls` speaks plain HTTP, for clients that trust no certificate.
    """
    key, certificate_path = certificate(directory)
    files = shutil.copytree(BASE_DIR / "static", directory / "static")
    shutil.copy(files / "css/site.css", files / HASHED_FILE)
    names = ("socialsite.conf",) if without_tls else ("socialsite-http.conf", "socialsite.conf")
    text = for_this_nginx("".join((DEPLOY / "nginx" / name).read_text() for name in names))
    if without_tls:  # a plain listener has no handshake to refuse
        text = re.sub(r"    (ssl_reject_handshake|http2) on;\n", "", re.sub("443 ssl( http2)?", "443", text))
    for ours, here in (
        ("server 127.0.0.1:8000", f"server 127.0.0.1:{upstream}"),
        ("listen 80", f"listen 127.0.0.1:{plain}"),
        ("listen 443", f"listen 127.0.0.1:{tls}"),
        ("    listen [::]:", "    #"),
        ("/etc/letsencrypt/live/social.example.org/fullchain.pem", str(certificate_path)),
        ("/etc/letsencrypt/live/social.example.org/privkey.pem", str(key)),
        ("/var/lib/socialsite/static/", f"{files}/"),
        ("/var/lib/socialsite/media/", f"{directory}/media/"),
        ("/var/log/nginx/", f"{directory}/"),
        ("/var/www/letsencrypt", str(directory / "letsencrypt")),
        ("social.example.org", "127.0.0.1" if without_tls else HOST),
        ("Host $host;", "Host $http_host;"),  # browsers include a port that is not the default
        ("rate=30r/s", "rate=10000r/s"),
        ("socialsite_connections 100", "socialsite_connections 10000"),
    ):
        assert ours in text or without_tls, ours
        text = text.replace(ours, here)
    (directory / "site.conf").write_text(text)
    paths = "".join(
        f"{kind}_temp_path {directory}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    conf = directory / "nginx.conf"
    conf.write_text(
        # Workers started by root would be another user, which cannot read the test's directory.
        f"{'user root; ' if os.getuid() == 0 else ''}daemon off;\n"
        f"pid {directory}/nginx.pid; error_log {directory}/error.log warn;\n"
        "events {}\n"
        f"http {{ include /etc/nginx/mime.types; access_log off;\n{paths}include {directory}/site.conf; }}\n"
    )
    return conf


@contextmanager
def running_nginx(conf: Path, port: int) -> Iterator[None]:
    process = subprocess.Popen([need("nginx"), "-c", str(conf)])
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            assert process.poll() is None, (conf.parent / "error.log").read_text()
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(10)
