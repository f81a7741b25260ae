"""The hostile images, made of this machine's Python: the tracer's files and another program.

The Dockerfile beside this file takes the same files.
"""

from pathlib import Path

from localnet.images.build import Image, python_image
from localnet.images.hostile.program import CONDUCTS
from localnet.images.tracer.image import ENTRYPOINT, FOLDER, TOOLS, program_files
from localnet.images.tree import File, Tree


def hostile_image(conduct: str, cache: Path | None = None) -> Image:
    """Return the image with this conduct, one of `program.CONDUCTS`; blocks for a second.

    Raises:
        KeyError: there is no such conduct.
        ImageError: none can be made on this machine.
    """
    env = {"SSSA_CONDUCT": CONDUCTS[conduct].__name__}
    return python_image(hostile_files(), ENTRYPOINT, env, tools=TOOLS, cache=cache)


def hostile_files() -> Tree:
    """Return the tracer's files with the hostile program in the place of its own."""
    images = Path(__file__).parents[1]
    own = {
        "__main__.py": images / "hostile" / "program.py",
        "localnet/images/__init__.py": images / "__init__.py",
        "localnet/images/tracer/__init__.py": images / "tracer" / "__init__.py",
        "localnet/images/tracer/program.py": images / "tracer" / "program.py",
    }
    return {**program_files(), **{f"{FOLDER}/{name}": File(path) for name, path in own.items()}}
