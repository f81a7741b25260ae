"""Putting earlier outputs into a step's params (SPEC 12)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from validator.protocol.canonical import canonical_bytes
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_RESOLVED_PARAMS
from validator.protocol.plan_rules import REFERENCE
from validator.protocol.workflow_run import StepOutput


class UnresolvedError(ValidatorError):
    """A reference has no value, or the values are too large."""


def resolve(params: dict[str, Any], outputs: Mapping[str, StepOutput]) -> dict[str, Any]:
    """Return `params` with every `${node.output.path}` replaced.

    A string that is one reference becomes the value itself; within a longer string a text is put in as it is and
    anything else as canonical JSON.

    Raises:
        UnresolvedError: no value there (null counts as none), or more than 256 KiB altogether.
    """
    resolved: dict[str, Any] = _Resolver(outputs).resolved(params)
    return resolved


class _Resolver:
    def __init__(self, outputs: Mapping[str, StepOutput]) -> None:
        self._plain = {node: msgspec.to_builtins(output) for node, output in outputs.items()}
        self._left = MAX_RESOLVED_PARAMS

    def resolved(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._filled(value)
        if isinstance(value, dict):
            return {key: self.resolved(item) for key, item in value.items()}
        return [self.resolved(item) for item in value] if isinstance(value, list) else value

    def _filled(self, text: str) -> Any:
        whole = REFERENCE.fullmatch(text)
        if whole is not None:
            value = self._value(whole[1], whole[2])
            self._written(value)
            return value
        return REFERENCE.sub(lambda match: self._written(self._value(match[1], match[2])), text)

    def _value(self, node: str, path: str) -> Any:
        value: Any = self._plain[node]
        for key in path.split("."):
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and key.isascii() and int(key) < len(value):
                value = value[int(key)]
            else:
                raise UnresolvedError(f"`{node}.output.{path}` does not exist")
        if value is None:
            raise UnresolvedError(f"`{node}.output.{path}` is null")
        return value

    def _written(self, value: Any) -> str:
        written = value if isinstance(value, str) else canonical_bytes(value).decode()
        self._left -= len(written.encode())
        if self._left < 0:
            raise UnresolvedError(f"more than {MAX_RESOLVED_PARAMS} bytes of outputs")
        return written
