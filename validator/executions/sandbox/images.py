"""The operator's own image in an engine: pulled once by digest, checked, kept (SPEC 15)."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from validator.executions.sandbox.engine import Engine, EngineAwayError, EngineError, EngineSlowError
from validator.protocol.runtime_image import RuntimeImage
from validator.sources import Clock

_PLATFORM: Final = ("linux", "amd64")
_AGAIN_S: Final = 60.0


class NoImageError(Exception):
    """The engine does not have the image; the text says why."""


class Images:
    """The images of one engine that bundles and code run in.

    Args:
        engine: where they are.
        clock: an image that could not be pulled is asked for again after a minute, not for every run.
        pull_s: how long pulling one may take.
    """

    def __init__(self, engine: Engine, clock: Clock, *, pull_s: float) -> None:
        self._engine = engine
        self._clock = clock
        self._pull_s = pull_s
        self._pulling = asyncio.Lock()
        self._failed: dict[str, tuple[float, str]] = {}

    async def present(self, image: RuntimeImage) -> Mapping[str, Any]:
        """Return the image as the engine knows it; it is pulled first if it is not there.

        Raises:
            NoImageError: there is none of this digest for this platform.
            EngineError: the engine failed otherwise.
        """
        async with self._pulling:
            found = await self._engine.image(image.pinned)
            if found is None:
                await self._pull(image)
                found = await self._engine.image(image.pinned)
        if found is None or not any(name.endswith(f"@{image.digest}") for name in found["RepoDigests"] or ()):
            raise NoImageError(f"{image.pinned}: what was pulled has another digest")
        if (found["Os"], found["Architecture"]) != _PLATFORM:
            raise NoImageError(f"{image.pinned} is not for {'/'.join(_PLATFORM)}")
        return found

    async def _pull(self, image: RuntimeImage) -> None:
        at, why = self._failed.get(image.pinned, (-_AGAIN_S, ""))
        if self._clock.monotonic() - at >= _AGAIN_S:
            try:
                await self._engine.pull(image.pinned, self._pull_s)
            except (EngineAwayError, EngineSlowError):
                raise
            except EngineError as error:
                why = f"{image.pinned}: {error.detail}"
                self._failed[image.pinned] = (self._clock.monotonic(), why)
            else:
                self._failed.pop(image.pinned, None)
                return
        raise NoImageError(why)
