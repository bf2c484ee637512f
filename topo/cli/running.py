"""Where the work of a verb runs, and what it may have down."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from topo.errors import InputError, ParameterError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from topo.fabric import Fabric, State

__all__ = ["cluster_executor", "given_state", "grouped"]

_WAIT_S = 10


def grouped(fabric: Fabric, groups: Sequence[str] | None) -> Fabric:
    """The fabric with the shared-risk groups that ``--group`` names.

    :raises ParameterError: what is not NAME=ELEMENT,..., or words that match nothing.
    """
    from topo.analysis.failures.elements import with_groups

    named: dict[str, list[str]] = {}
    for text in groups or ():
        name, equals, words = text.partition("=")
        listed = [word for word in words.split(",") if word]
        if not equals or not name or not listed:
            raise ParameterError(f"--group {text!r} is not NAME=ELEMENT,..., such as feed-A=spine-1,rack:3")
        named[name] = named.get(name, []) + listed
    return with_groups(fabric, named) if named else fabric


def given_state(fabric: Fabric, down: Sequence[str] | None, rates: Sequence[str] | None) -> State | None:
    """The state with elements down and at lower rates as named, or None where nothing is named.

    :raises ParameterError: words that match nothing, or a rate that is none.
    """
    if not down and not rates:
        return None
    from topo.analysis.failures.elements import down_state
    from topo.units import parse_gbps

    kept: dict[str, float] = {}
    for text in rates or ():
        element, equals, rate = text.rpartition("=")
        if not equals or not element:
            raise ParameterError(f"--rate {text!r} is not ELEMENT=RATE, such as link:leaf-1--spine-1=200G")
        kept[element] = parse_gbps(rate)
    return down_state(fabric, list(down or ()), rates=kept or None)


@contextmanager
def cluster_executor(address: str | None, processes: int = 1) -> Iterator[Executor | None]:
    """An executor of the Dask cluster at ``address``, or of so many processes here; None for this one process.

    :raises InputError: distributed is not installed, or nothing answers at the address.
    """
    if address is None and processes > 1:
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(processes) as pool:
            yield pool
        return
    if address is None:
        yield None
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError("--cluster needs the package distributed; install it with: pip install distributed") from None
    client = _client(distributed, address)
    try:
        yield client.get_executor()
    finally:
        client.close()


def _client(distributed: Any, address: str) -> Any:
    """A client of the scheduler, once something answers there: a client that waits in vain cannot be closed."""
    try:
        host, port = distributed.comm.get_address_host_port(address)
        socket.create_connection((host, port), timeout=_WAIT_S).close()
        return distributed.Client(address, timeout=_WAIT_S, set_as_default=False)
    except (OSError, ValueError) as error:  # ValueError: no address of a known form
        reason = str(getattr(error, "strerror", None) or error or type(error).__name__).splitlines()[0]
        raise InputError(f"no Dask scheduler answers at --cluster {address}: {reason}") from None
