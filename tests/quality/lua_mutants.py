"""Mutants of Lua scripts: comparisons, `and`/`or`/`not`, arithmetic, numbers, options, calls, returns.

Patterns find them in a text whose comments and strings are blanked: the scripts are short and formatted alike.
"""

import re

from tests.quality.mutants import OPTIONS, Mutant, near

BLANKED = re.compile(r"""--[^\n]*|#![^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")
SWAPPED = {
    "<=": "<", ">=": ">", "==": "~=", "~=": "==", "<": "<=", ">": ">=", "+": "-", "-": "+", "*": "/",
    "/": "*", "%": "+", "and": "or", "or": "and", "not ": "", "true": "false", "false": "true",
}  # fmt: skip
TOKENS = re.compile(
    r"<=|>=|==|~=|<|>|(?<= )[-+*/%](?= )|\band\b|\bor\b|\bnot |\btrue\b|\bfalse\b|(?<![\w.])\d+(?![\w.])"
)
CALL = re.compile(r"^ *redis\.call\(.*\)$|^ *table\.(insert|remove)\(.*\)$", re.MULTILINE)
RETURN = re.compile(r"\breturn (?!\d+\b|false\b|true\b|nil\b)[^\n]+")
KINDS = {"and": "boolean", "or": "boolean", "not ": "boolean", "+": "arithmetic", "-": "arithmetic",
         "*": "arithmetic", "/": "arithmetic", "%": "arithmetic", "true": "constant",
         "false": "constant"}  # fmt: skip
Place = tuple[int, int, str, str]
"""(start, end, replacement, kind of the change)."""


def _places(source: str) -> list[Place]:
    blank = BLANKED.sub(lambda found: " " * len(found[0]), source)
    places: list[Place] = []
    for found in TOKENS.finditer(blank):
        text = found[0]
        if text.isdigit() and re.search(r"(KEYS|ARGV)\[$", blank[: found.start()]):
            places.append((found.start(), found.end(), str(int(text) + 1), "index"))
            continue
        replacement = str(near(int(text))) if text.isdigit() else SWAPPED[text]
        kind = "constant" if text.isdigit() else KINDS.get(text, "compare")
        places.append((found.start(), found.end(), replacement, kind))
    code = re.sub(r"--[^\n]*", lambda found: " " * len(found[0]), source)
    for option in re.finditer(r""", ["'](\w+)["']""", code):
        if option[1] in OPTIONS:
            places.append((option.start(), option.end(), "", "option"))
    for pattern, replacement, kind in ((CALL, "", "statement"), (RETURN, "return nil", "return")):
        places += [
            (found.start(), found.end(), replacement, kind) for found in pattern.finditer(code) if _is_whole(found[0])
        ]
    return sorted(places)


def _is_whole(text: str) -> bool:
    """Return whether a statement ends on its line."""
    return all(text.count(opening) == text.count(closing) for opening, closing in ("()", "{}", "[]"))


def lua_mutants_of(source: str) -> list[Mutant]:
    mutants: list[Mutant] = []
    for number, (start, end, replacement, kind) in enumerate(_places(source)):
        line = source.count("\n", 0, start) + 1
        whole = source.splitlines()[line - 1].strip()
        description = f"{whole}  ->  {source[start:end].strip()} becomes {replacement or '(removed)'}"
        mutants.append(Mutant(number, line, line, line, kind, description[:160], True))
    return mutants


def lua_mutated(source: str, number: int) -> str:
    start, end, replacement, _ = _places(source)[number]
    return source[:start] + replacement + source[end:]
