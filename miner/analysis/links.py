"""URLs in text: where a document points, and links that carry something away."""

import re
from collections.abc import Iterator
from typing import Final

from miner.analysis.policy import host_of
from miner.analysis.result import found
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding
from validator.protocol.text import printable

_URL: Final = re.compile(
    r"https?://[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::\d{1,5})?(?:[/?#][!-;=?-Z_a-z{}~%\[\]|]{0,1500})?"
)
_IMAGE: Final = re.compile(r"!\[[^\[\]\n]{0,300}\]\(\s{0,3}<?(https?://[^)\s>]{1,1500})")
_SLOT: Final = re.compile(
    r"\{\{?|\$\{|<[A-Za-z]|%s|%7B|\[[A-Z_ ]{3,}\]|=(?:DATA|SECRET|TEXT|CONVERSATION|SUMMARY)\b", re.IGNORECASE
)
# Who draws a badge or keeps a picture for a page reads nothing of what its author puts into the address.
_PICTURES: Final = frozenset(
    """
    img.shields.io shields.io badge.fury.io badgen.net flat.badgen.net github.com raw.githubusercontent.com
    user-images.githubusercontent.com camo.githubusercontent.com codecov.io coveralls.io circleci.com snyk.io
    api.securityscorecards.dev api.star-history.com readthedocs.org glama.ai smithery.ai deepwiki.com
    """.split()  # noqa: SIM905 - a list of twenty strings reads worse
)
_HANDED_ON: Final = re.compile(r"(?:^|&)url=", re.IGNORECASE)  # such a service then asks a host of the author's choice
_ACTIVE: Final = re.compile(r"\]\(\s{0,3}(?:javascript:|vbscript:|data:text/html)", re.IGNORECASE)
_DATA_URL: Final = re.compile(r"(?<!logo=)data:[a-z]{1,20}/[a-z0-9.+-]{1,40};base64,[A-Za-z0-9+/=]{64}", re.IGNORECASE)


def urls_in(text: str) -> Iterator[str]:
    """Yield the http and https URLs in the text, trailing punctuation dropped."""
    for match in _URL.finditer(text):
        yield match[0].rstrip(".,;:!?)]}'\"")


def hosts_in(text: str) -> frozenset[str]:
    """Return the hosts of the text's URLs."""
    return frozenset(host for url in urls_in(text) if (host := host_of(url)))


def without_port(text: str) -> str:
    """Return the host of `host:port`, or of a host alone, lower case."""
    host, _, port = text.lower().rpartition(":")
    return host if port.isdigit() and ":" not in host else text.lower()


def suspicious_links(source: SourceFile) -> Iterator[Finding]:
    """Yield images that send text along when they are shown, links that run code, and embedded payloads."""
    for number, line in enumerate(source.lines, start=1):
        if "](" not in line and "data:" not in line:
            continue
        place = source.place(number)
        for match in _IMAGE.finditer(line):
            yield from _image(match[1], place)
        if _ACTIVE.search(line):
            yield found("other", "high", place, "A link runs code when it is opened.", source.path)
        if _DATA_URL.search(line):
            yield found("other", "low", place, "A data: URL embeds content that readers do not see.", source.path)


def _image(url: str, place: str) -> Iterator[Finding]:
    query = url.partition("?")[2]
    if host_of(url) in _PICTURES and not _HANDED_ON.search(query):
        return
    if query and _SLOT.search(query):
        text = f"Showing this image sends text that the model fills in to {printable(host_of(url))}."
        yield found("secrets_exposure", "high", place, text, url)
    elif query:
        yield found("other", "low", place, "A remote image with a query string can track readers.", url)
