"""Images of miners: pulled by digest, checked, kept while there is room, the one used longest ago removed first.

What is known of them lies in the engine alone, so that it outlives this process: a tag of ours is on every image that
was pulled here (tagging again keeps the time of the last use), and a volume of ours names one that is being pulled.
"""

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

from validator.protocol.reasons import Reason
from validator.reruns.sandbox.engine import Engine, EngineAwayError, EngineError, EngineSlowError, TooLargeError
from validator.reruns.sandbox.image import PinnedImage
from validator.reruns.sandbox.job import SandboxFailure
from validator.reruns.sandbox.labels import PULLED, Owner
from validator.store.unbroken import unbroken

REPOSITORY: Final = "sssa-sandbox/image"
_UNKNOWN: Final = ("manifest unknown", "manifest verification failed", "does not match", ": not found")
_ARCHITECTURE: Final = ("linux", "amd64")


class ImageRefusedError(Exception):
    """There is no image to run, and why."""

    def __init__(self, failure: SandboxFailure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Images:
    """The images of one engine.

    Args:
        engine: where they are.
        owner: whose leftovers are whose.
        room: bytes that all of them may take together; those in use are kept in any case.
        pull_s: how long pulling one may take.
    """

    def __init__(self, engine: Engine, owner: Owner, *, room: int, pull_s: float) -> None:
        self._engine = engine
        self._owner = owner
        self._room = room
        self._pull_s = pull_s
        self._in_use: Counter[str] = Counter()
        self._pulling: set[str] = set()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by tag: who pulls or removes it

    @contextlib.asynccontextmanager
    async def use(self, image: PinnedImage, most: int) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the image as the engine knows it, at most `most` bytes large; it is kept meanwhile.

        Raises:
            ImageRefusedError: there is none, or none that may be run.
            EngineError: the engine failed otherwise.
        """
        tag = _tag(image)
        self._in_use[tag] += 1
        try:
            async with self._turn(tag):
                found = await self._present(image, most)
            _check(found, most)
            yield found
        finally:
            self._in_use[tag] -= 1
            if not self._in_use[tag]:
                del self._in_use[tag]

    async def remove_half_pulled(self) -> None:
        """Remove what a validator that died was pulling."""
        for volume in await self._engine.volumes(PULLED):
            labels = volume["Labels"] or {}
            if volume["Name"] in self._pulling or not self._owner.may_remove(labels):
                continue
            await self._settle(volume["Name"], labels[PULLED])

    async def _settle(self, note: str, reference: str) -> None:
        """Remove the note of a pull, and what it left if that was not taken over."""
        found = await self._engine.image(reference)
        if found is not None and not _ours(found):
            await self._remove(found)
        await self._engine.remove_volume(note)

    async def _present(self, image: PinnedImage, most: int) -> Mapping[str, Any]:
        found = await self._engine.image(image.reference)
        if found is None:
            return await self._pulled(image, most)
        if _ours(found):
            await self._engine.tag(found["Id"], REPOSITORY, _tag(image))
        return found

    async def _pulled(self, image: PinnedImage, most: int) -> Mapping[str, Any]:
        note = f"sssa-pull-{secrets.token_hex(8)}"
        self._pulling.add(note)
        try:
            await self._engine.make_volume(note, self._owner.labels(self._pull_s) | {PULLED: image.reference}, {})
            await self._pull(image, most)
            found = await self._engine.image(image.reference)
            if found is None or not any(one.endswith(f"@{image.digest}") for one in found["RepoDigests"]):
                _refuse(Reason.DIGEST_MISMATCH, "what was pulled has another digest")
            _check(found, most)
            await self._engine.tag(found["Id"], REPOSITORY, _tag(image))
        finally:
            await unbroken(self._settle(note, image.reference))
            self._pulling.discard(note)
        await self._make_room()
        return found

    async def _pull(self, image: PinnedImage, most: int) -> None:
        try:
            await self._engine.pull(image.reference, most, self._pull_s)
        except (EngineAwayError, EngineSlowError):
            raise
        except TooLargeError as error:
            _refuse(Reason.SANDBOX_IMAGE_TOO_LARGE, error.detail)
        except EngineError as error:
            unknown = any(words in error.detail for words in _UNKNOWN)
            _refuse(Reason.DIGEST_MISMATCH if unknown else Reason.SANDBOX_PULL, error.detail)

    async def _make_room(self) -> None:
        listed = await self._engine.images(f"{REPOSITORY}:*")
        found = [image for one in listed if (image := await self._engine.image(one["Id"])) is not None]
        total = sum(image["Size"] for image in found)
        for image in sorted(found, key=lambda image: str(image["Metadata"]["LastTagTime"])):
            if total <= self._room:
                break
            if await self._removed(image):
                total -= image["Size"]

    async def _removed(self, image: Mapping[str, Any]) -> bool:
        """Remove an image unless it is in use; who wants it meanwhile waits, and pulls it again."""
        tags = sorted(name.rpartition(":")[2] for name in _ours(image))
        async with contextlib.AsyncExitStack() as stack:
            for tag in tags:
                if tag in self._in_use:
                    return False
                await stack.enter_async_context(self._turn(tag))
            if any(tag in self._in_use for tag in tags):
                return False
            await self._remove(image)
        return True

    def _turn(self, tag: str) -> asyncio.Lock:
        return self._turns.setdefault(tag, asyncio.Lock())

    async def _remove(self, image: Mapping[str, Any]) -> None:
        """Remove the names that we gave it and those that it was pulled by; another tag of an operator's keeps it."""
        for name in [*image["RepoDigests"], *_ours(image)]:
            await self._engine.untag(name)


def _tag(image: PinnedImage) -> str:
    return image.digest.replace(":", "-")


def _ours(image: Mapping[str, Any]) -> list[str]:
    return [name for name in image["RepoTags"] or () if name.startswith(f"{REPOSITORY}:")]


def _check(image: Mapping[str, Any], most: int) -> None:
    """Refuse what is never run: too large, for another machine, without a program, or with folders on the disk."""
    if image["Size"] > most:
        _refuse(Reason.SANDBOX_IMAGE_TOO_LARGE, f"{image['Size']} bytes, at most {most}")
    if (image["Os"], image["Architecture"]) != _ARCHITECTURE:
        _refuse(Reason.SANDBOX_IMAGE_REFUSED, f"it is not for {'/'.join(_ARCHITECTURE)}")
    config = image["Config"] or {}
    if config.get("Volumes"):
        _refuse(Reason.SANDBOX_IMAGE_REFUSED, "it declares volumes")
    if not config.get("Entrypoint") and not config.get("Cmd"):
        _refuse(Reason.SANDBOX_IMAGE_REFUSED, "it names no program")


def _refuse(reason: Reason, detail: str) -> NoReturn:
    raise ImageRefusedError(SandboxFailure(reason, detail))
