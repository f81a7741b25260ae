"""Discovery of benchmarks: the modules of `cases` that `ONLY=` names."""

import pkgutil
from collections.abc import Sequence


class UnknownBenchmarkError(Exception):
    """No benchmark has this name."""


def known(package: Sequence[str]) -> list[str]:
    """Return the names of the benchmarks in a package's folders."""
    return sorted(module.name for module in pkgutil.iter_modules(package))


def chosen(names: Sequence[str], only: str) -> list[str]:
    """Return which of the names `only` asks for (commas between them; nothing: all).

    Raises:
        UnknownBenchmarkError: naming what is none, and what there is.
    """
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    strange = [name for name in wanted if name not in names]
    if strange:
        raise UnknownBenchmarkError(f"ONLY={','.join(strange)}: there are {', '.join(names)}")
    return wanted or list(names)
