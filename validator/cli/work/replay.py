"""What `validator replay` does: compute rounds again from what is stored, and compare."""

from pathlib import Path

import typer

from validator.audit.replay import replay_elsewhere, replay_rounds, round_ids
from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO
from validator.cli.progress import progress
from validator.cli.replay_text import Summary, print_replay
from validator.cli.session import ask_store


def replay(  # noqa: PLR0913 - each is an option
    round_id: int | None,
    since: int | None,
    jobs: int,
    config: Path | None,
    *,
    everything: bool,
    distributed: bool,
    as_json: bool,
) -> None:
    """Compute rounds again from their stored inputs and answers, and compare byte for byte. Exit 1: a difference."""
    if [round_id is not None, since is not None, everything].count(True) != 1:
        raise typer.BadParameter("say which rounds: ROUND, --since ROUND or --all")
    first = since or 0 if round_id is None else round_id
    ids = ask_store(config, lambda tx, _: round_ids(tx, first))
    if round_id is not None:
        ids = tuple(found for found in ids if found == round_id)
    if not ids and not everything:
        raise typer.BadParameter(f"there is no round {first} in the store; `validator rounds list` shows them")
    if distributed and jobs != 1:
        raise typer.BadParameter("--jobs is of this machine, --distributed of others: say one of them")
    summary = Summary()
    store = settings_of(config).store
    url = store.url.get_secret_value()
    with progress("replaying", len(ids)) as advance:
        for replayed in replay_elsewhere(url, ids) if distributed else replay_rounds(url, ids, jobs, store.archive):
            print_replay(replayed, as_json=as_json)
            summary.add(replayed)
            advance()
    summary.say(as_json=as_json)
    if summary.different:
        raise typer.Exit(EXIT_NO)
