"""Compile the translations of locale/ into the .mo files that Django loads: `python -m socialsite.translations`.

They are not in the repository. `make run`, the tests, the image and `release` compile them; a language whose file is
current is left as it is. A site without them is in English (check socialsite.W007).
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

LOCALE = Path(__file__).resolve().parent.parent / "locale"


def find_stale_languages() -> Iterator[Path]:
    """Return the .po files whose compiled file is absent or older."""
    for po in sorted(LOCALE.glob("*/LC_MESSAGES/django.po")):
        mo = po.with_suffix(".mo")
        if not mo.exists() or mo.stat().st_mtime < po.stat().st_mtime:
            yield po


def compile_translations() -> None:
    """Compile the stale files, also beside other processes that do so. Raises OSError if locale/ cannot be written."""
    for po in find_stale_languages():
        from babel.messages.mofile import write_mo  # babel is slow to import, and rarely needed
        from babel.messages.pofile import read_po

        with po.open("rb") as source:
            catalog = read_po(source, locale=po.parent.parent.name)
        file, new = tempfile.mkstemp(dir=po.parent, suffix=".new")
        try:
            with os.fdopen(file, "wb") as compiled:
                write_mo(compiled, catalog)
            os.chmod(new, 0o644)
            os.replace(new, po.with_suffix(".mo"))
        except BaseException:
            os.unlink(new)
            raise


if __name__ == "__main__":
    compile_translations()
