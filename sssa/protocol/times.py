"""Times on the wire: `YYYY-MM-DDTHH:MM:SSZ` (SPEC 13)."""

import re
from datetime import UTC, datetime

from sssa.protocol.strict_json import SchemaError

_FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


def format_time(moment: datetime) -> str:
    """Return an aware datetime in wire form, whole seconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str, field: str) -> datetime:
    """Return the moment that `text` names (SchemaError: another form or no such moment; the text names `field`)."""
    try:
        if not _FORM.fullmatch(text):
            raise ValueError
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise SchemaError(f"must be YYYY-MM-DDTHH:MM:SSZ - at `{field}`") from None
