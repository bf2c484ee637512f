"""The command line: one verb a file, argument parsing only; every error is one line and exit status 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import cast

__all__ = ["main"]

_BROKEN_PIPE = 141
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status: 0 fine, 1 findings, 2 unusable input or arguments.

    130 after an interrupt and 141 when the reader of the output went away, as the shell counts signals.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nothing can be said any more; keep the interpreter from trying once again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        sys.stderr.write("topo: interrupted\n")
        return _INTERRUPTED
    except OSError as error:
        return _unusable(f"{error.filename or 'output'}: {error.strerror or error}")
    return status


def _run(arguments: Sequence[str] | None) -> int:
    import typer

    from topo.cli.program import program
    from topo.errors import TopoError

    command = typer.main.get_command(program)
    # Parsing and invoking apart: the library's own main would swallow a broken pipe.
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with command.make_context("topo", given) as context:
            command.invoke(context)
    except TopoError as error:
        return _unusable(_in_options(str(error)))
    except typer.Exit as stop:
        return stop.exit_code
    except _argument_errors() as error:
        return _unusable(_usage(error, given))
    except MemoryError:
        return _unusable("the fabric does not fit into memory; ask of a smaller one, or where there is more")
    return 0


_OPTIONS = (
    ("assume_gbps (--assume-gbps on the command line)", "--assume-gbps"),
    ("load with one_sided=True (--one-sided on the command line)", "take them as there with --one-sided"),
    ("format= (--read-as on the command line)", "--read-as"),
    (" (--endpoints on the command line)", " with --endpoints"),
    ('with keep "none"', "with --keep none"),
    ("assume_gbps is", "--assume-gbps is"),
    ("columns has no", "--columns has no"),
    ("columns must also", "--columns must also"),
    (
        "columns={'a_node': 'text or number', 'a_port': ..., 'z_node': ..., 'z_port': ...} "
        "(--columns on the command line)",
        "--columns a_node=HEADER,a_port=2,z_node=HEADER,z_port=4",
    ),
)
_SAME = ("accuracy", "alpha_us", "inner_alpha_us", "mtu", "offset", "queue_pairs", "samples", "tolerance")
_ARGUMENTS = {
    "k": "--worst",
    "n_samples": "--samples",
    "checkpoint_write_s": "--checkpoint-write",
    "restart_s": "--restart",
} | {name: f"--{name.replace('_', '-')}" for name in _SAME}


def _in_options(message: str) -> str:
    """What the library says of its arguments, in the words of the command line."""
    for said, option in _OPTIONS:
        message = message.replace(said, option)
    name, is_, rest = message.partition(" is ")
    return f"{_ARGUMENTS[name]} is {rest}" if is_ and name in _ARGUMENTS else message


def _argument_errors() -> type[Exception]:
    """The root of the library's errors about arguments, which it exports under no name in all its versions."""
    import typer

    return cast("type[Exception]", typer.BadParameter.__mro__[2])


def _usage(error: BaseException, given: Sequence[str]) -> str:
    said = " ".join(str(getattr(error, "format_message", error.__str__)()).replace("Value error, ", "").split())
    said = said.rstrip(".")
    context = getattr(error, "ctx", None)
    # What the parser of options finds comes without a context; the verb is the first word then.
    verb = getattr(context, "command_path", None) or " ".join(["topo", *(w for w in given[:1] if w.isalpha())])
    return f"{said} ({verb} --help shows what it takes)"


def _unusable(message: str) -> int:
    from topo.output import plain

    try:
        sys.stdout.flush()
        print(f"topo: {plain(message)}", file=sys.stderr)
    except OSError:
        pass  # neither output is there: the status has to say it
    return 2
