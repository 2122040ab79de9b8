"""Write static files with hashed names and compressed copies, and bundle the modules of the site's script.

During development the browser loads the modules of static/js. `collectstatic` writes them as one file, so that a page
loads one script. Modules outside the bundle import each other by hashed names, so that after an upgrade no old module
is loaded from a cache.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

ENTRY_MODULE, BUNDLE = "js/site.js", "js/bundle.js"
IMPORT_PATTERN = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
EXPORT_PATTERN = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
COMMENT_PATTERN = re.compile(r"^\s*(?:/\*\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
REST_PATTERN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


class SiteStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """The static files that `collectstatic` writes. js/site.js is the bundle."""

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        if not dry_run and ENTRY_MODULE in paths:
            bundle = bundle_modules("site", lambda name: _read_text(paths[f"js/{name}.js"]))
            self.delete(BUNDLE)
            self.save(BUNDLE, ContentFile(bundle.encode()))
            paths = {name: place for name, place in paths.items() if name != ENTRY_MODULE} | {BUNDLE: (self, BUNDLE)}
        yield from super().post_process(paths, dry_run=dry_run, **options)  # type: ignore[no-untyped-call]

    def save_manifest(self) -> None:
        self.hashed_files[ENTRY_MODULE] = self.hashed_files[BUNDLE]
        super().save_manifest()


def bundle_modules(entry: str, read: Callable[[str], str]) -> str:
    """Return one script with each module in a function of its own, after the modules that it imports.

    `read` returns the text of a module. Raises ValueError for circular imports and for other forms of import or export.
    """
    functions: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"modules import each other: {' → '.join((*importers, name))}")
        if name in functions:
            return
        text = COMMENT_PATTERN.sub("", read(name))
        for _names, imported in IMPORT_PATTERN.findall(text):
            add(imported, (*importers, name))
        body = IMPORT_PATTERN.sub(
            lambda match: f"const {{{match[1].replace(' as ', ': ')}}} = {_variable(match[2])};\n", text
        )
        exports, body = EXPORT_PATTERN.findall(body), EXPORT_PATTERN.sub("", body)
        if rest := REST_PATTERN.search(body):
            raise ValueError(f"{name}.js: this form is not bundled: {rest[0]}")
        functions[name] = f"const {_variable(name)} = (() => {{\n{body}return {{ {', '.join(exports)} }};\n}})();\n"

    add(entry, ())
    return "".join(functions.values())


def _variable(module: str) -> str:
    return f"module_{module.replace('-', '_')}"


def _read_text(place: tuple[Any, str]) -> str:
    storage, path = place
    with storage.open(path) as file:
        content: bytes = file.read()
    return content.decode()
