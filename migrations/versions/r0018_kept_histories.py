"""Histories and collusion windows as they stand, so that no round has to read what came before them.

An older store's are read once, pair by pair, from the ends of their indices.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "r0018"
down_revision = "r0017"
branch_labels = None
depends_on = None

_ROLES = 100  # rounds of a pair
_SAMPLES = 30  # of a pair

_PAIRS = sa.text("SELECT m.hotkey, t.skill_type FROM miners m CROSS JOIN (SELECT DISTINCT skill_type FROM tasks) t")
_ASSIGNED = sa.text(
    "SELECT max(role) FROM dispatches WHERE hotkey = :hotkey AND skill_type = :skill_type"
    " AND (state IN ('answered', 'failed') OR (state = 'void'"
    " AND reason IN ('local_resources', 'local_network', 'local_stall', 'bug_internal')))"
    " AND round_id NOT IN (SELECT round_id FROM rounds WHERE state = 'open')"
    " GROUP BY round_id ORDER BY round_id DESC LIMIT :most"
)
_COUNTED = sa.text(
    "SELECT round_id, with_primaries, with_auditors FROM agreements"
    " WHERE hotkey = :hotkey AND skill_type = :skill_type AND counted AND consumed_by IS NULL"
    " AND with_primaries IS NOT NULL AND with_auditors IS NOT NULL ORDER BY round_id DESC LIMIT :most"
)


def upgrade() -> None:
    """Take the step."""
    _table("histories", "roles")
    _table("agreement_windows", "samples")
    connection = op.get_bind()
    histories, windows = [], []
    for row in connection.execute(_PAIRS).all():
        pair = {"hotkey": row.hotkey, "skill_type": row.skill_type}
        roles = "".join(
            "p" if role == "primary" else "a" for (role,) in connection.execute(_ASSIGNED, pair | {"most": _ROLES})
        )
        if roles:
            histories.append({**pair, "roles": roles})
        samples = [list(sample) for sample in connection.execute(_COUNTED, pair | {"most": _SAMPLES})][::-1]
        if samples:
            windows.append({**pair, "samples": json.dumps(samples, separators=(",", ":"))})
    _fill(connection, "histories", "roles", histories)
    _fill(connection, "agreement_windows", "samples", windows)


def _table(name: str, column: str) -> None:
    op.create_table(
        name,
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column(column, sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f(f"fk_{name}_hotkey_miners")),
        sa.PrimaryKeyConstraint("hotkey", "skill_type", name=op.f(f"pk_{name}")),
    )


def _fill(connection: sa.Connection, table: str, column: str, rows: list[dict[str, str]]) -> None:
    if rows:
        names = f"(hotkey, skill_type, {column}) VALUES (:hotkey, :skill_type, :{column})"
        connection.execute(sa.text(f"INSERT INTO {table} {names}"), rows)
