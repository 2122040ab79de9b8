"""Replace the original code by a mutant, in a process that has imported everything.

A function's code is replaced in place, so imports, fixtures and collected tests stay valid. Module-level code
(constants, defaults) is executed again, and the new values are set in each module that imported the old ones.
"""

import gc
import hashlib
import sys
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from socialsite.store.commands import READ_ONLY_SHEBANG, Script
from tests.quality.lua_mutants import lua_mutants_of, lua_mutated
from tests.quality.mutants import Mutant, mutants_of, mutated

ROOT = Path(__file__).resolve().parents[2]


class Impossible(Exception):
    """The mutant cannot be applied; it is counted separately."""


def mutants_in(path: str) -> list[Mutant]:
    source = (ROOT / path).read_text()
    return mutants_of(source) if path.endswith(".py") else lua_mutants_of(source)


def mutate(path: str, mutant: Mutant) -> None:
    """Apply the mutant in this process. Raises Impossible."""
    gc.unfreeze()  # frozen objects are not listed by gc.get_objects
    file = ROOT / path
    source = file.read_text()
    if path.endswith(".lua"):
        _replace_script(file.name, source, lua_mutated(source, mutant.number))
        return
    old = compile(source, str(file), "exec")
    new = compile(mutated(source, mutant.number), str(file), "exec")
    if mutant.is_in_function:
        _replace_functions(old, new)
    else:
        _replace_values(path, new)


def _replace_script(name: str, source: str, changed: str) -> None:
    scripts = [each for each in gc.get_objects() if type(each) is Script and each.name == name]
    if not any(each.source == source for each in scripts):
        raise Impossible(f"no script {name} is loaded as it stands in its file")
    for script in scripts:
        script.source = changed
        script.sha = hashlib.sha1(changed.encode(), usedforsecurity=False).hexdigest()
        script.is_read_only = changed.startswith(READ_ONLY_SHEBANG)


def _codes(code: CodeType) -> list[CodeType]:
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [*nested, *(deeper for each in nested for deeper in _codes(each))]


def _replace_functions(old: CodeType, new: CodeType) -> None:
    before, after = _by_place(old), _by_place(new)
    changed = {place: after[place] for place, code in before.items() if after.get(place, code) != code}
    replaced_count = 0
    for function in [each for each in gc.get_objects() if type(each) is FunctionType]:
        code = function.__code__
        place = _place(code)
        if code.co_filename != old.co_filename or place not in changed:
            continue
        if code != before[place]:
            raise Impossible("the file has changed since it was imported")
        try:
            function.__code__ = changed[place]
        except ValueError as error:
            raise Impossible(str(error)) from error
        replaced_count += 1
    if not replaced_count:
        raise Impossible("no function runs this code")


Place = tuple[str, int, int]


def _place(code: CodeType) -> Place:
    """Return a key that distinguishes the functions of a file, even lambdas on one line."""
    column = next((each[2] or 0 for each in code.co_positions() if each[2] is not None), 0)
    return code.co_qualname, code.co_firstlineno, column if code.co_name == "<lambda>" else 0


def _by_place(code: CodeType) -> dict[Place, CodeType]:
    return {_place(each): each for each in _codes(code)}


def _replace_values(path: str, code: CodeType) -> None:
    name = path.removesuffix(".py").replace("/", ".")
    module = sys.modules.get(name)
    if module is None:
        raise Impossible(f"{name} is not imported")
    fresh = ModuleType(name)
    fresh.__dict__.update(__file__=module.__file__, __package__=module.__package__, __name__=name)
    sys.modules[name] = fresh
    exec(code, fresh.__dict__)
    sys.modules[name] = module
    replaced_count = _give_constants(module, fresh) + _give_defaults(vars(module), vars(fresh), name)
    if not replaced_count:
        raise Impossible("nothing that can be replaced differs")


PLAIN = (int, float, str, bytes, tuple, frozenset, type(None))


def _give_constants(module: ModuleType, fresh: ModuleType) -> int:
    replaced_count = 0
    for key, value in vars(fresh).items():
        old = getattr(module, key, None)
        if key.startswith("__") or not isinstance(value, PLAIN) or value == old:
            continue
        for loaded_module in list(sys.modules.values()):
            if isinstance(loaded_module, ModuleType) and key in vars(loaded_module) and vars(loaded_module)[key] == old:
                setattr(loaded_module, key, value)
                replaced_count += 1
    return replaced_count


def _give_defaults(old: object, new: object, module: str) -> int:
    """Replace defaults of functions and methods, and constants of classes."""
    replaced_count = 0
    before = old if isinstance(old, dict) else dict(vars(old))
    after = new if isinstance(new, dict) else dict(vars(new))
    for key, value in after.items():
        was = getattr(before.get(key), "__func__", before.get(key))
        value = getattr(value, "__func__", value)
        inner = getattr(value, "__wrapped__", None)
        for one, two in ((was, value), (getattr(was, "__wrapped__", None), inner)):
            if isinstance(one, FunctionType) and isinstance(two, FunctionType) and two.__module__ == module:
                replaced_count += _give_default(one, two)
        if isinstance(was, type) and isinstance(value, type) and value.__module__ == module:
            replaced_count += _give_defaults(was, value, module)
        elif not isinstance(old, dict) and isinstance(value, PLAIN) and value != was and key[:2] != "__":
            setattr(old, key, value)
            replaced_count += 1
    return replaced_count


def _give_default(one: FunctionType, two: FunctionType) -> int:
    replaced_count = 0
    if one.__defaults__ != two.__defaults__ and _plain(two.__defaults__ or ()):
        one.__defaults__, replaced_count = two.__defaults__, 1
    if one.__kwdefaults__ != two.__kwdefaults__ and _plain(tuple((two.__kwdefaults__ or {}).values())):
        one.__kwdefaults__, replaced_count = two.__kwdefaults__, 1
    return replaced_count


def _plain(values: tuple[object, ...]) -> bool:
    return all(isinstance(each, PLAIN) for each in values)
