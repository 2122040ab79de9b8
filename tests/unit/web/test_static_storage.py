"""The modules of static/js become one script."""

import pytest

from socialsite.web.static_storage import bundle_modules

MODULES = {
    "top": 'import { b as other } from "./deep.js";\nimport { a } from "./mid.js";\nother(a);\n',
    "mid": '/** Says a. */\nimport { b } from "./deep.js";\n\nconst own = b;\nexport const a = own;\n',
    "deep": "// one line\nexport function b() {\n  return 1; // kept\n}\nexport class C {}\n",
}


def test_the_bundle_contains_a_module_after_its_imports() -> None:
    assert bundle_modules("top", MODULES.__getitem__) == (
        "const module_deep = (() => {\nfunction b() {\n  return 1; // kept\n}\nclass C {}\nreturn { b, C };\n})();\n"
        "const module_mid = (() => {\nconst { b } = module_deep;\n\nconst own = b;\nconst a = own;\n"
        "return { a };\n})();\n"
        "const module_top = (() => {\nconst { b: other } = module_deep;\nconst { a } = module_mid;\nother(a);\n"
        "return {  };\n})();\n"
    )


@pytest.mark.parametrize(
    "text", ['import "./deep.js";\n', "export default 1;\n", "export { x };\n", 'import x from "./deep.js";\n']
)
def test_other_forms_of_import_and_export_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not bundled"):
        bundle_modules("top", {**MODULES, "top": text}.__getitem__)


def test_modules_that_import_each_other_are_refused() -> None:
    circle = {**MODULES, "deep": 'import { a } from "./mid.js";\n'}
    with pytest.raises(ValueError, match="top → deep → mid → deep"):
        bundle_modules("top", circle.__getitem__)
