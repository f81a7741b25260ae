"""What is said of a package that is pinned to a version with advisories."""

from collections.abc import Sequence
from typing import Final

import msgspec

from miner.advisories import Advisory
from miner.analysis.result import found
from validator.protocol.risk import SEVERITIES
from validator.protocol.sssa import Finding

_SAID: Final = 3  # summaries that one finding repeats


def pinned_finding(place: str, pin: str, url: str, advisories: Sequence[Advisory]) -> Finding:
    """Return one finding for a pin, with the ids of all its advisories, as grave as the gravest.

    Args:
        place: evidence of the pin.
        pin: package and version, as people read them.
        url: of the package.
        advisories: at least one.
    """
    ordered = sorted(advisories, key=lambda advisory: (SEVERITIES.index(advisory.severity), advisory.cve))
    more = f" And {len(ordered) - _SAID} more." if len(ordered) > _SAID else ""
    text = f"{pin}: {' '.join(advisory.summary for advisory in ordered[:_SAID])}{more}"
    finding = found("dependency_cve", ordered[0].severity, place, text, url)
    return msgspec.structs.replace(finding, cve_ids=tuple(sorted(advisory.cve for advisory in ordered)))
