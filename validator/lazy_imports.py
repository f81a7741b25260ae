"""Lazy imports of a package's names (PEP 562): a name's module is imported at its first use, so commands start fast.

Only `validator/store` uses it.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_getattr(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package, so that importing a module of it does not import all the others.

    Args:
        package: its name.
        places: the modules of the package that define the names.
    """

    def named(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return named
