"""megalodon, the library of Fedistar and Whalebird, and the comparison of answers with Mastodon's OpenAPI schema.

The schema is derived from Mastodon's documentation, whose license (GFDL) differs from ours, so it is not part of this
repository: MASTODON_OPENAPI names a folder with the `schema.json` of https://github.com/abraham/mastodon-openapi,
which may be compressed.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from tests.foreign import common
from tests.support.sites import ProductionSite

MEGALODON, JSONSCHEMA = "megalodon@10.3.0", "jsonschema[format-nongpl]==4.26.0"


@dataclass(frozen=True)
class MegalodonSuite:
    """A call of every method of the client (megalodon.cjs)."""

    name: str = "megalodon"
    package: str = MEGALODON

    @property
    def folder(self) -> Path:
        return common.CACHE / "megalodon"

    def install(self) -> None:
        """Install the client. Raises SkippedSuite."""
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix", str(self.folder)]
        common.install(self.folder, MEGALODON, [["npm", "install", *options, MEGALODON]])

    def run(self, site: ProductionSite, arguments: Sequence[str], exchanges: Path | None = None) -> common.Outcomes:
        picture = self.folder / "picture.png"
        Image.new("RGB", (64, 48), "teal").save(picture)
        environment = {
            "PATH": os.environ["PATH"], "SITE_URL": site.url, "PASSWORD": common.PASSWORD, "PICTURE": str(picture),
            "ALICE_TOKEN": common.create_account(site, "alice"), "BOB_TOKEN": common.create_account(site, "bob"),
            "EXCHANGES": str(exchanges or ""),
        }  # fmt: skip
        return common.run_program(self.folder, ["node", str(common.HERE / "megalodon.cjs")], environment)


@dataclass(frozen=True)
class OpenApiSuite:
    """The answers to the calls of megalodon, compared with the schema (openapi_check.py)."""

    name: str = "openapi"
    package: str = "Mastodon's OpenAPI schema"

    @property
    def folder(self) -> Path:
        return common.CACHE / "openapi"

    def install(self) -> None:
        """Install jsonschema and megalodon. Raises SkippedSuite, also without the schema."""
        find_schema()
        common.install(self.folder, JSONSCHEMA, common.python_commands(self.folder, JSONSCHEMA))
        MegalodonSuite().install()

    def run(self, site: ProductionSite, arguments: Sequence[str]) -> common.Outcomes:
        exchanges = self.folder / "exchanges.jsonl"
        exchanges.write_text("")
        MegalodonSuite().run(site, (), exchanges)
        python = str(self.folder / "env/bin/python")
        command = [python, str(common.HERE / "openapi_check.py"), str(find_schema()), str(exchanges)]
        return common.run_program(self.folder, command, {"PATH": os.environ["PATH"]})


def find_schema() -> Path:
    """Return the file of the schema. Raises SkippedSuite."""
    folder = os.environ.get("MASTODON_OPENAPI", "")
    found = sorted(Path(folder).glob("*schema.json*")) if folder else []
    if not found:
        raise common.SkippedSuite("MASTODON_OPENAPI names no folder with the schema.json of abraham/mastodon-openapi")
    return found[0]
