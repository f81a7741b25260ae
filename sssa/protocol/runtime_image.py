"""Name of the one image that runs the bundles of runtime types; schedules of names by epoch (SPEC 15, 16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Final

from msgspec import Meta

from sssa.protocol.errors import ValidatorError
from sssa.protocol.sssa import Document
from sssa.protocol.text import printable


class ScheduleError(ValidatorError):
    """The schedule cannot be followed."""


def check_starts(setting: str, starts: Mapping[str, int]) -> None:
    """Refuse a schedule that does not begin at epoch 0, or is out of order.

    Raises:
        ScheduleError: naming the setting, what is wrong with it and what to write.
    """
    if next(iter(starts.values()), None) != 0:
        raise ScheduleError(f"{setting}: the first entry must begin at epoch 0")
    for (_, first), (name, then) in pairwise(starts.items()):
        if then <= first:
            fault = f"must begin after epoch {first}, with which the one before it begins"
            raise ScheduleError(f"{setting}: {printable(name, 160)} {fault}")


def name_at(starts: Mapping[str, int], epoch: int) -> str:
    """Return the name that is in force in this epoch."""
    return [name for name, first in starts.items() if first <= epoch][-1]


_REFERENCE: Final = r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,254}"
_DIGEST: Final = r"sha256:[0-9a-f]{64}"
PINNED_IMAGE: Final = rf"{_REFERENCE}@{_DIGEST}"
"""The pattern of an image's name in the settings: REPOSITORY@sha256:DIGEST."""


class RuntimeImage(Document, frozen=True):
    """A linux/amd64 image.

    Attributes:
        reference: the repository that an engine finds it in, without a digest.
        digest: of its platform manifest, `sha256:` and 64 lower-case hex digits.
    """

    reference: Annotated[str, Meta(pattern=rf"\A{_REFERENCE}\Z")]
    digest: Annotated[str, Meta(pattern=rf"\A{_DIGEST}\Z")]

    @property
    def pinned(self) -> str:
        """`reference@digest`, as settings and engines have it."""
        return f"{self.reference}@{self.digest}"

    @classmethod
    def named(cls, pinned: str) -> "RuntimeImage":
        """Return the image that a name of the pattern `PINNED_IMAGE` means."""
        reference, _, digest = pinned.partition("@")
        return cls(reference, digest)


UNPUBLISHED: Final = RuntimeImage("localhost/sssa-runner", "sha256:" + "0" * 64)
"""What rounds name where the settings name no image: no engine has it, so nothing is executed."""


@dataclass(frozen=True, slots=True)
class RuntimeImages:
    """Images with the epochs from which on they run the bundles of new rounds.

    Attributes:
        starts: `reference@digest` to first epoch, in order: the first from epoch 0 on, each later than the one before.

    Raises:
        ScheduleError: naming the setting, what is wrong with it and what to write.
    """

    starts: Mapping[str, int] = field(default_factory=lambda: {UNPUBLISHED.pinned: 0})

    def __post_init__(self) -> None:
        check_starts("scoring.runtime_images", self.starts)

    def image_at(self, epoch: int) -> RuntimeImage:
        """Return the image that a round of this epoch names."""
        return RuntimeImage.named(name_at(self.starts, epoch))
