"""The codes and the QR code of the site, compared with oathtool and zbarimg."""

import re
import subprocess
from pathlib import Path

import pyotp

from accounts.factors.values import TOTP_STEP_S, Totp
from accounts.models import Account
from accounts.settings.factors import build_setup_page
from tests.support.programs import need

NOW_S = 1_800_000_011
SCALE = 5  # pixels of a module


def oathtool(secret: str, at_s: int) -> str:
    program = need("oathtool")
    command = [program, "--totp", "--base32", f"--now=@{at_s}", "-"]
    return subprocess.run(command, input=secret, check=True, capture_output=True, text=True).stdout.strip()


def test_oathtool_makes_the_codes_that_the_site_accepts() -> None:
    for number in range(20):
        totp = Totp(pyotp.random_base32(), created_ms=0)
        at_s = NOW_S + 1_000_003 * number
        step = at_s // TOTP_STEP_S
        found = [totp.find_step(oathtool(totp.secret, at_s + 30 * drift), at_s * 1000) for drift in (-2, -1, 0, 1, 2)]
        assert found == [None, step - 1, step, step + 1, None]


def test_zbarimg_reads_the_uri_of_the_qr_code(tmp_path: Path) -> None:
    zbarimg = need("zbarimg")
    page = build_setup_page(Account(handle="alice"), secret := pyotp.random_base32(), "Socialsite")
    size, modules = int(str(page["qr_size"])), re.findall(r"M(\d+) (\d+)h1v1h-1z", str(page["qr_path"]))
    pixels = [["0"] * size * SCALE for _ in range(size * SCALE)]
    for x, y in modules:
        for row in pixels[int(y) * SCALE : (int(y) + 1) * SCALE]:
            row[int(x) * SCALE : (int(x) + 1) * SCALE] = ["1"] * SCALE
    image = tmp_path / "qr.pbm"
    image.write_text(f"P1\n{size * SCALE} {size * SCALE}\n" + "\n".join("".join(row) for row in pixels))
    read = subprocess.run([zbarimg, "--raw", "-q", image], check=True, capture_output=True, text=True)
    assert read.stdout.strip() == page["uri"]
    assert f"secret={secret}" in str(page["uri"])
