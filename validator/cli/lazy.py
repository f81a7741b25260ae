"""Modules of commands' work that are imported when something names them."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from validator.cli.dispatch import without_collection


def when_named(package: str) -> Callable[[str], ModuleType]:
    """Return a `__getattr__` for a package: it imports a module of it when something names that."""

    def module(name: str) -> ModuleType:
        whole = f"{package}.{name}"
        try:
            with without_collection():
                return import_module(whole)
        except ModuleNotFoundError as error:
            if error.name != whole:
                raise
            raise AttributeError(f"{package} has no module {name}") from None

    return module
