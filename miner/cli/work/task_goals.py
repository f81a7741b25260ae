"""What `validator tasks goals` does: goals of the benchmark, with the addresses of somebody's services."""

import os
from pathlib import Path

import msgspec

from miner.goals.written import named_goals, versions
from miner.services.catalogue import SERVICES, Service, ServiceAddress
from validator.cli.output import print_json, print_line
from validator.files import made_folders, new_folder
from validator.protocol.signatures import is_hotkey
from validator.protocol.text import printable
from validator.protocol.workflow_task import is_service_url
from validator.tasks.folder import WORKFLOW_NAME, label
from validator.tasks.source import TaskError


def goals(folder: Path, given: list[str], benchmark: int, *, as_json: bool) -> None:
    """Write a folder for each goal whose services are all given; all of them or none.

    Raises:
        TaskError: an address is none, there is no such version, no goal that these services reach, or the folder is
            there already.
        OSError: the folder cannot be made.
    """
    addresses = _addresses(given)
    if benchmark not in versions():
        raise TaskError(f"the newest is {max(versions())} - at `--benchmark`")
    found = named_goals(addresses, None, benchmark)
    if not found:
        raise TaskError("no goal takes these services alone - at `--service`")
    whole = folder.absolute()
    if os.path.lexists(whole):
        raise TaskError(f"`{label(folder)}` is there already: name another folder")
    with made_folders(whole.parent), new_folder(whole) as made:
        for name, task in found:
            (made / name).mkdir()
            (made / name / WORKFLOW_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(task)) + b"\n")
    if as_json:
        print_json({"benchmark": benchmark, "goals": [{"name": name, "type": task.type} for name, task in found]})
    else:
        print_line(f"{folder}: {len(found)} goals of benchmark {benchmark}")


def _addresses(given: list[str]) -> dict[Service, ServiceAddress]:
    found: dict[Service, ServiceAddress] = {}
    for one in given:
        name, _, address = one.partition("=")
        url, _, hotkey = address.rpartition(",")
        if name not in SERVICES:
            raise TaskError(f"`{printable(name, 60)}` is none of {', '.join(SERVICES)} - at `--service`")
        if name in found:
            raise TaskError(f"{name}: at most once - at `--service`")
        if not is_service_url(url):
            raise TaskError(f"{name}: not a plain http or https url before the comma - at `--service`")
        if not is_hotkey(hotkey):
            raise TaskError(f"{name}: not an ss58 address behind the comma - at `--service`")
        found[name] = ServiceAddress(url, hotkey)
    return found
