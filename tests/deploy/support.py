"""The files of deploy/, made to run here: other ports and paths, passwords and a certificate for today."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parents[2]
DEPLOY = BASE_DIR / "deploy"
PASSWORDS = {role: f"password-of-{role}" for role in ("web", "worker", "operator")}


def program(name: str, package: str) -> str:
    """Its path; skips, naming the Debian package, where it is not installed (in CI a skip fails)."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install {package}")
    return found


def users_file(directory: Path) -> Path:
    """users.acl as make-users writes it."""
    chosen = {f"{role.upper()}_PASSWORD": password for role, password in PASSWORDS.items()}
    made = subprocess.run(
        [str(DEPLOY / "redis/make-users")],
        env={**os.environ, **chosen},
        check=True,
        capture_output=True,
        text=True,
    )
    file = directory / "users.acl"
    file.write_text(made.stdout)
    return file


def certificate(directory: Path) -> tuple[Path, Path]:
    key, made = directory / "privkey.pem", directory / "fullchain.pem"
    openssl = program("openssl", "openssl")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return key, made


def nginx_files(directory: Path, *, upstream: int, plain: int, tls: int, without_tls: bool = False) -> Path:
    """nginx.conf that includes our site on these ports; the limits of one address do not count here.

    `without_tls`: the site itself speaks plainly on port `tls`, for clients that trust no certificate.
    """
    key, made = certificate(directory)
    text = (DEPLOY / "nginx/socialsite.conf").read_text()
    for ours, here in (
        ("server 127.0.0.1:8000", f"server 127.0.0.1:{upstream}"),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{tls}{'' if without_tls else ' ssl http2'};"),
        ("    listen [::]:80;\n", ""),
        ("    listen [::]:443 ssl http2;\n", ""),
        ("/etc/letsencrypt/live/social.example.org/fullchain.pem", str(made)),
        ("/etc/letsencrypt/live/social.example.org/privkey.pem", str(key)),
        ("/var/lib/socialsite/static/", f"{BASE_DIR}/static/"),
        ("Host $host;", "Host $http_host;"),  # on a port that no browser would leave out
        ("rate=30r/s", "rate=10000r/s"),
        ("socialsite_connections 100", "socialsite_connections 10000"),
    ):
        assert ours in text, ours
        text = text.replace(ours, here)
    (directory / "site.conf").write_text(text)
    paths = "".join(
        f"{kind}_temp_path {directory}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    conf = directory / "nginx.conf"
    conf.write_text(
        f"daemon off; pid {directory}/nginx.pid; error_log {directory}/error.log warn;\n"
        "events {}\n"
        f"http {{ include /etc/nginx/mime.types; access_log off;\n{paths}include {directory}/site.conf; }}\n"
    )
    return conf


@contextmanager
def running_nginx(conf: Path, port: int) -> Iterator[None]:
    process = subprocess.Popen([program("nginx", "nginx-light"), "-c", str(conf)])
    try:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            assert process.poll() is None, (conf.parent / "error.log").read_text()
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(10)
