"""Shapes of faults in code: Python, JavaScript, TypeScript and shell scripts."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code import (
    detours,
    environment,
    execution,
    files,
    hidden_secrets,
    loading,
    persistence,
    takeover,
    tokens,
    unsafe,
)

CODE_SHAPES: Final[tuple[Shape, ...]] = (
    *environment.SHAPES,
    *files.SHAPES,
    *detours.SHAPES,
    *tokens.SHAPES,
    *hidden_secrets.SHAPES,
    *execution.SHAPES,
    *takeover.SHAPES,
    *persistence.SHAPES,
    *unsafe.SHAPES,
    *loading.SHAPES,
)
