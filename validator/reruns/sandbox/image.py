"""Images by digest: which reference a declaration means (SPEC 13, 15)."""

import re
from dataclasses import dataclass
from typing import Final, Self

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable

DEFAULT_REGISTRY: Final = "docker.io"
_MOST = 255  # characters of a repository, as registries have it
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?"
_REPOSITORY = re.compile(
    rf"(?:(?P<host>{_HOST})/)?(?P<path>{_PART}(?:/{_PART})*)(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]*)?"
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ImageReferenceError(ValidatorError):
    """The declaration names no image by digest."""


@dataclass(frozen=True, slots=True)
class PinnedImage:
    """An image by digest.

    Attributes:
        registry: host of the registry, with its port if one is named.
        path: of the repository there.
        digest: `sha256:` and 64 hex digits.
    """

    registry: str
    path: str
    digest: str

    @classmethod
    def parse(cls, image: str, digest: str) -> Self:
        """Return what a declaration's `image` and `digest` mean; a tag is dropped, the digest alone counts.

        Raises:
            ImageReferenceError: neither a repository nor a sha256 digest.
        """
        if not _DIGEST.fullmatch(digest):
            raise ImageReferenceError(
                f"`{printable(digest)}` is not sha256: and 64 lower-case hex digits - at `digest`"
            )
        first, slash, rest = image.partition("/")
        if slash and not ("." in first or ":" in first or first == "localhost"):
            first, rest = DEFAULT_REGISTRY, image  # a user of the default registry
        elif not slash:
            first, rest = DEFAULT_REGISTRY, f"library/{image}"
        found = _REPOSITORY.fullmatch(f"{first}/{rest}") if len(image) <= _MOST else None
        if found is None:
            raise ImageReferenceError(f"`{printable(image[:_MOST])}` is not the name of a repository - at `image`")
        return cls(found["host"].lower(), found["path"], digest)

    @property
    def repository(self) -> str:
        """Registry and path, as an engine takes them."""
        return f"{self.registry}/{self.path}"

    @property
    def reference(self) -> str:
        """`repository@digest`, as an engine takes it."""
        return f"{self.repository}@{self.digest}"
