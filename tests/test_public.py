"""The public face: what is promised is there, documented, and light to import."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import topo

ROOT = Path(__file__).resolve().parent.parent
OWN = {"DisconnectedError", "FabricError", "FormatError", "InputError", "ParameterError", "TopoError"}
HEAVY = ("scipy", "pandas", "networkx", "igraph", "matplotlib")


def test_the_list_of_names_is_sorted_and_each_is_there() -> None:
    assert list(topo.__all__) == sorted(set(topo.__all__))
    assert set(topo.__all__) <= set(dir(topo))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = topo.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", topo.__all__)
def test_every_name_is_documented(name: str) -> None:
    value = getattr(topo, name)
    assert (inspect.getdoc(value) or "").strip()
    assert value.__module__.startswith("topo.")
    if inspect.isfunction(value):
        assert ">>>" in (value.__doc__ or ""), f"{name} has no example"


def test_the_docstring_names_everything() -> None:
    """The contents list at the top mentions each function; values and errors as a group."""
    functions = [name for name in topo.__all__ if inspect.isfunction(getattr(topo, name))]
    assert [name for name in functions if name not in (topo.__doc__ or "")] == []


def test_no_public_name_is_a_module_under_topo() -> None:
    modules = {module.name for module in pkgutil.iter_modules(topo.__path__)}
    assert modules & set(topo.__all__) == set()


@pytest.mark.parametrize(
    "statement",
    ["import topo", "import topo, topo.cli", "from topo.cli import main; main(['--help'])", "import topo; dir(topo)"],
)
def test_what_is_not_needed_is_not_imported(statement: str) -> None:
    check = f"import sys; print(sorted({set(HEAVY)!r} & {{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", f"{statement}; {check}"], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.stdout.splitlines()[-1] == "[]"


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_every_module_has_its_layer() -> None:
    (contract,) = _project()["tool"]["importlinter"]["contracts"]
    layers = [module.strip() for layer in contract["layers"] for module in layer.split("|")]
    modules = {module.name for module in pkgutil.iter_modules(topo.__path__)} - set(contract["exhaustive_ignores"])
    assert sorted(layers) == sorted(modules)


def test_versions_agree() -> None:
    assert _project()["project"]["version"] == topo.__version__


def test_every_file_says_what_it_is_and_what_it_gives() -> None:
    for path in (ROOT / "topo").rglob("*.py"):
        source = path.read_text("utf-8")
        assert source.startswith('"""'), f"{path} has no docstring"
        assert source.count("\n") <= 480, f"{path} is too long to read"


def test_every_public_definition_is_documented() -> None:
    missing = []
    for module in pkgutil.walk_packages(topo.__path__, "topo."):
        if module.name.endswith("__main__"):
            continue
        loaded = __import__(module.name, fromlist=["_"])
        for name in getattr(loaded, "__all__", ()):
            value = getattr(loaded, name)
            if (inspect.isclass(value) or inspect.isfunction(value)) and not inspect.getdoc(value):
                missing.append(f"{module.name}.{name}")
    assert missing == []


def test_what_a_public_definition_raises_itself_is_told() -> None:
    """The library's own errors that a function's body raises stand in its docstring; that of a verb is its help."""
    untold = []
    for path in sorted((ROOT / "topo").rglob("*.py")):
        if "cli" in path.relative_to(ROOT).parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            raised = {
                inner.exc.func.id
                for inner in ast.walk(node)
                if isinstance(inner, ast.Raise)
                and isinstance(inner.exc, ast.Call)
                and isinstance(inner.exc.func, ast.Name)
            }
            told = ast.get_docstring(node) or ""
            untold += [
                f"{path.name}: {node.name}: {name}"
                for name in sorted(raised & OWN)
                if not {name, "TopoError"} & set(re.findall(r"\w+", told))
            ]
    assert untold == []


@pytest.mark.parametrize("name", [name for name in topo.__all__ if inspect.isclass(getattr(topo, name))])
def test_every_public_class_can_be_seen_at_work(name: str) -> None:
    """An example of its own, or, for answers and errors, of what makes them."""
    value = getattr(topo, name)
    if issubclass(value, Exception) or name == "Result":
        return
    assert ">>>" in (inspect.getdoc(value) or "") or issubclass(value, topo.Result), f"{name} has no example"
