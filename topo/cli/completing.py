"""The words that could come next on a command line, from the verbs' own signatures; and the scripts that ask."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin

from typer.models import OptionInfo

__all__ = ["SCRIPTS", "completions"]

_BASH = """\
# Completion of topo for bash. Where topo knows no word, names of files are completed.
_topo() {
    local IFS=$'\\n'
    COMPREPLY=($(topo completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _topo topo
"""
_ZSH = """\
#compdef topo
# Completion of topo for zsh. Where topo knows no word, names of files are completed.
_topo() {
    local -a found
    found=("${(@f)$(topo completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\\\:/g; s/\\t/:/')}")
    if [[ -n "${found[1]}" ]]; then
        _describe topo found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" = _topo ]]; then
    _topo "$@"
else
    compdef _topo topo
fi
"""
_FISH = """\
# Completion of topo for fish. Names of files are completed as well.
complete -c topo -a '(topo completion fish -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""What a shell runs to complete, by shell."""


@dataclass(frozen=True, slots=True)
class _Option:
    """One option of a verb: its spellings, whether it takes a value, the values that are known, its help."""

    spellings: tuple[str, ...]
    takes_value: bool
    values: tuple[str, ...]
    help: str


def completions(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Words that could stand in place of the last of ``words``, with their help; none where a file is wanted.

    >>> [word for word, _ in completions(["bis"])], [word for word, _ in completions(["bisect", "--ke"])]
    (['bisect'], ['--keep'])
    >>> [word for word, _ in completions(["bisect", "--keep", ""])]
    ['host', 'domain', 'pod', 'none']
    """
    verbs = _verbs()
    *before, current = list(words) or [""]
    if not before:
        yield from _starting(current, [*verbs.items(), ("--help", ""), ("--version", "")])
        return
    verb = before[0]
    if verb not in verbs:
        return
    options = list(_options(verb))
    asked = next((one for one in options if before[-1] in one.spellings and one.takes_value), None)
    if asked is not None and len(before) > 1:
        yield from _starting(current, [(value, "") for value in asked.values])
        return
    if current.startswith("-"):
        named = [(word, one.help) for one in options for word in one.spellings if word.startswith("--")]
        yield from _starting(current, [*named, ("--help", "")])
        return
    yield from _starting(current, _arguments(verb))


def _starting(start: str, found: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    yield from ((word, help) for word, help in found if word.startswith(start))


def _verbs() -> dict[str, str]:
    """Verbs in the order of the help, with their short help."""
    from topo.cli.groups import GROUPS
    from topo.cli.program import program

    known = {one.name: one.short_help or "" for one in program.registered_commands if one.name}
    order = [name for names in GROUPS.values() for name in names if name in known]
    return {name: known[name] for name in [*order, *(name for name in known if name not in order)]}


def _parameters(verb: str) -> Iterator[tuple[inspect.Parameter, Any, Any]]:
    """Each parameter of a verb with its type and what typer is told about it."""
    from topo.cli.program import program

    function = next(one.callback for one in program.registered_commands if one.name == verb)
    assert function is not None
    for parameter in inspect.signature(function).parameters.values():
        arguments = get_args(parameter.annotation)
        if len(arguments) > 1:
            yield parameter, arguments[0], arguments[1]


def _options(verb: str) -> Iterator[_Option]:
    for parameter, kind, told in _parameters(verb):
        if not isinstance(told, OptionInfo):
            continue
        # Inside Annotated the first spelling stands where a default would.
        first = (told.default,) if isinstance(told.default, str) else ()
        spelt = (*first, *(told.param_decls or ())) or (f"--{parameter.name.replace('_', '-')}",)
        # Both names of a pair such as --mean/--slowest.
        spellings = tuple(part for one in spelt for part in one.split("/"))
        yield _Option(spellings, not _is_flag(kind), _values(kind), told.help or "")


def _plain(kind: Any) -> list[Any]:
    """The types that a value may have, without None and without the list around them."""
    if get_origin(kind) is list:
        return _plain(get_args(kind)[0])
    if get_args(kind):
        return [plain for inner in get_args(kind) if inner is not NoneType for plain in _plain(inner)]
    return [kind]


def _is_flag(kind: Any) -> bool:
    return bool in _plain(kind)


def _values(kind: Any) -> tuple[str, ...]:
    for one in _plain(kind):
        if isinstance(one, type) and issubclass(one, Enum):
            return tuple(str(member.value) for member in one)
    return ()


def _arguments(verb: str) -> list[tuple[str, str]]:
    """What may stand for the arguments of a verb."""
    from topo.source import fabrics_folder

    found: list[tuple[str, str]] = []
    for parameter, kind, told in _parameters(verb):
        if isinstance(told, OptionInfo):
            continue
        found += [(value, "") for value in _values(kind)]
        if parameter.name in ("fabric", "fabrics", "wiring"):
            found += [(name, "") for name in sorted(path.stem for path in fabrics_folder().glob("*.yaml"))]
        elif parameter.name == "kind" and verb == "template":
            from topo.cli.templates import TEMPLATES

            found += [(name, "") for name in TEMPLATES]
        elif parameter.name == "name" and verb == "schema":
            from topo.cli.schema_files import FILE_SCHEMAS
            from topo.cli.schema_verbs import VERB_SCHEMAS

            found += [(name, "") for name in (*FILE_SCHEMAS, *VERB_SCHEMAS)]
    return found
