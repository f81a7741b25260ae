"""What decides whether a window pays: declarations by round, who is unproven, which vectors were computed.

An older store's plans are read once, so many rounds at a time. Declarations are taken over from the rounds after the
oldest of the mechanisms' newest submissions, and from the last round; a store that never sent any counts from here on.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "r0008"
down_revision = "r0007"
branch_labels = None
depends_on = None

_ROUNDS = 100  # at a time
_REASONS = ("low_reputation", "failure_rate")


def upgrade() -> None:
    """Take the step."""
    _declarations()
    _exclusions()
    _weight_vectors()
    connection = op.get_bind()
    _fill_vectors(connection)
    _fill_exclusions(connection)
    _fill_declarations(connection)


def _declarations() -> None:
    op.create_table(
        "declarations",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_declarations")),
    )
    op.add_column("rounds", sa.Column("declared_sha256", sa.Text(), nullable=True))


def _exclusions() -> None:
    op.create_table(
        "exclusions",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_exclusions_round_id_rounds")),
        sa.PrimaryKeyConstraint("hotkey", "skill_type", name=op.f("pk_exclusions")),
    )


def _weight_vectors() -> None:
    op.create_table(
        "weight_vectors",
        sa.Column("netuid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("mechid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=True),
        sa.Column("block", sa.BigInteger(), nullable=True),
        sa.Column("scoring_version", sa.Text(), nullable=True),
        sa.Column("positive", sa.Boolean(), nullable=False),
        sa.Column("unpaid", sa.Text(), nullable=True),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_weight_vectors_round_id_rounds")),
        sa.PrimaryKeyConstraint("netuid", "mechid", "epoch", name=op.f("pk_weight_vectors")),
    )


def _fill_vectors(connection: sa.Connection) -> None:
    """Every submission was computed for its epoch, from the rounds that had been frozen when it was first written."""
    connection.execute(
        sa.text(
            "INSERT INTO weight_vectors (netuid, mechid, epoch, round_id, block, positive, computed_at)"
            " SELECT s.netuid, s.mechid, s.epoch,"
            " (SELECT max(r.round_id) FROM rounds r WHERE r.input IS NOT NULL AND r.started_at <= s.created_at),"
            " s.signed_block, (1 = 1), s.created_at FROM weight_submissions s"
        )
    )


def _fill_exclusions(connection: sa.Connection) -> None:
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for first in _spans(connection):
        groups = connection.execute(
            sa.text(
                "SELECT g.round_id, t.skill_type, g.excluded FROM groups g"
                " JOIN tasks t ON t.round_id = g.round_id AND t.task_id = g.task_id"
                " WHERE g.round_id >= :first AND g.round_id < :last AND g.excluded <> '{}' ORDER BY g.round_id"
            ),
            {"first": first, "last": first + _ROUNDS},
        )
        for round_id, skill_type, excluded in groups:
            for hotkey, reason in json.loads(excluded).items():
                if reason in _REASONS:
                    found[hotkey, skill_type] = round_id, reason
        accepted = connection.execute(
            sa.text(
                "SELECT d.hotkey, d.skill_type, max(d.round_id) FROM dispatches d"
                " JOIN rounds r ON r.round_id = d.round_id WHERE d.round_id >= :first AND d.round_id < :last"
                " AND d.state = 'answered' AND r.state = 'settled' GROUP BY d.hotkey, d.skill_type"
            ),
            {"first": first, "last": first + _ROUNDS},
        )
        for hotkey, skill_type, newest in accepted:
            if newest > found.get((hotkey, skill_type), (newest, ""))[0]:
                del found[hotkey, skill_type]
    if found:
        connection.execute(
            sa.text("INSERT INTO exclusions (hotkey, skill_type, round_id, reason) VALUES (:h, :t, :n, :r)"),
            [{"h": hotkey, "t": kind, "n": number, "r": reason} for (hotkey, kind), (number, reason) in found.items()],
        )


def _fill_declarations(connection: sa.Connection) -> None:
    frozen = sa.text("SELECT max(round_id) FROM rounds WHERE input IS NOT NULL")
    last = connection.execute(frozen).scalar()
    since = connection.execute(
        sa.text(
            "SELECT min(newest) FROM (SELECT max(round_id) AS newest FROM weight_vectors GROUP BY netuid, mechid) v"
        )
    ).scalar()
    wanted = sa.text("SELECT round_id FROM rounds WHERE input IS NOT NULL AND round_id >= :first ORDER BY round_id")
    for (round_id,) in connection.execute(wanted, {"first": last if since is None else since}).all():
        _fill_round(connection, round_id)


def _fill_round(connection: sa.Connection, round_id: int) -> None:
    blob = connection.execute(sa.text("SELECT input FROM rounds WHERE round_id = :n"), {"n": round_id}).scalar()
    try:
        miners = json.loads(zlib.decompress(bytes(blob or b"")))["miners"]
    except (zlib.error, ValueError, KeyError):
        return  # damaged: it is told when the round is read
    declared: dict[str, list[str]] = {}
    for miner in miners:
        for skill_type in miner["skill_types"]:
            declared.setdefault(skill_type, []).append(miner["hotkey"])
    form = {name: sorted(hotkeys) for name, hotkeys in declared.items()}
    data = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    known = sa.text("SELECT 1 FROM declarations WHERE sha256 = :s")
    if connection.execute(known, {"s": sha256}).first() is None:
        add = sa.text("INSERT INTO declarations (sha256, document) VALUES (:s, :d)")
        connection.execute(add, {"s": sha256, "d": zlib.compress(data)})
    named = sa.text("UPDATE rounds SET declared_sha256 = :s WHERE round_id = :n")
    connection.execute(named, {"s": sha256, "n": round_id})


def _spans(connection: sa.Connection) -> Iterator[int]:
    largest = connection.execute(sa.text("SELECT max(round_id) FROM rounds")).scalar()
    return iter(range(0, 0 if largest is None else largest + 1, _ROUNDS))
