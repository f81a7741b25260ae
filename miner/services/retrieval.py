"""The retrieval service: a small library on agent safety, searched by words."""

import re
from typing import Final

from miner.services.params import Params, count_of, text_of
from validator.protocol.workflow_run import StepOutput

_WORD: Final = re.compile(r"[a-z]{3,}")
_MOST: Final = 5

PASSAGES: Final = {
    "prompt injection": (
        "Prompt injection hides instructions in data that an agent reads. "
        "The agent cannot tell the instructions of its owner from the instructions in the data. "
        "Hidden text, comments and tool answers are common carriers of injected instructions. "
        "Separating data from instructions and asking before acting limit the damage of an injection."
    ),
    "sandboxing": (
        "A sandbox runs untrusted code where it can do no harm. "
        "A good sandbox has no network, a read-only file system and hard limits on time and memory. "
        "Untrusted code that leaves its sandbox owns the machine. "
        "A sandbox is worth what its weakest opening is worth."
    ),
    "least privilege": (
        "Least privilege gives every tool only the rights that its task needs. "
        "A tool that may read one folder cannot leak another folder. "
        "Rights that are not used should be taken away. "
        "Least privilege turns many successful attacks into harmless errors."
    ),
    "supply chain": (
        "A supply chain attack reaches a program through the packages that it depends on. "
        "Pinned versions and hashes make a package the same package every time. "
        "Typosquatted names wait for a slip of the keyboard. "
        "A dependency that is not needed cannot be attacked."
    ),
    "tool poisoning": (
        "Tool poisoning puts instructions into the description of a tool. "
        "The description is read by the model and not by the user. "
        "A poisoned description can redirect data to a stranger. "
        "Descriptions should be reviewed and pinned like code."
    ),
    "secrets": (
        "Secrets in a repository are public secrets. "
        "A leaked key must be revoked and not only deleted. "
        "Secrets belong into a vault that hands them out for a short time. "
        "Scanners find secrets by their form and by their randomness."
    ),
    "audit logs": (
        "An audit log says who did what and when. "
        "Entries that name each other cannot be removed without a trace. "
        "A log that its writer can change proves nothing against the writer. "
        "Logs are read by somebody or they are not worth their disk."
    ),
    "backups": (
        "A backup that was never restored is a hope. "
        "Backups lie on another machine than what they back up. "
        "An intruder who can delete the backups needs no ransom note to be believed. "
        "Old backups keep secrets that were removed everywhere else."
    ),
    "phishing": (
        "Phishing asks for a password in the name of somebody else. "
        "A login that is bound to an address gives a false address nothing. "
        "Urgent mails from a chief are the oldest bait. "
        "Whoever reports a phishing mail early saves the others from the mail."
    ),
}


def search(params: Params) -> StepOutput:
    """Return the `count` passages that share most words with `query`."""
    wanted = set(_WORD.findall(text_of(params, "query").lower()))
    shared = {title: len(wanted & set(_WORD.findall(f"{title} {text}".lower()))) for title, text in PASSAGES.items()}
    titled = {title: len(wanted & set(_WORD.findall(title))) for title in PASSAGES}
    ranked = sorted(PASSAGES, key=lambda title: (-titled[title], -shared[title], title))
    chosen = ranked[: count_of(params, "count", _MOST)]
    return StepOutput(
        text=" ".join(PASSAGES[title] for title in chosen),
        code=None,
        data=[{"title": title, "text": PASSAGES[title]} for title in chosen],
    )
