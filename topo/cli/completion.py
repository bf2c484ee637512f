"""``topo completion``: scripts for shells, and the words that they ask for."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["Shell", "completion"]


class Shell(StrEnum):
    """Shells that can complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="For which shell: bash, zsh or fish.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD...]", help="What the script itself asks: words so far.")
    ] = None,
) -> None:
    """Print the script that completes verbs, options, their values and names of the catalogue.

    bash: topo completion bash > ~/.local/share/bash-completion/completions/topo

    zsh: topo completion zsh > "${fpath[1]}/_topo", then start the shell again

    fish: topo completion fish > ~/.config/fish/completions/topo.fish
    """
    from topo.cli.completing import SCRIPTS, completions

    if words is None:
        sys.stdout.write(SCRIPTS[shell.value])
        return
    for word, help in completions(words):
        sys.stdout.write(f"{word}\t{help}\n" if help and shell is not Shell.bash else f"{word}\n")
