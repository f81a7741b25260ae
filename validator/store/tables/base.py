"""The metadata, and the constraints that several tables share."""

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, MetaData, text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """Return the check that `column` holds one of `values`."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(value) for value in values)})", name=column)


def sparse(column: str, name: str | None = None) -> Index:
    """Return an index of the rows in which `column` is not null: few of them.

    Args:
        column: its key.
        name: in the database, where that is another.
    """
    # Not `postgresql_where`: it loads that dialect for whoever reads a file. On Postgres, migrations alone make tables.
    return Index(None, column, sqlite_where=text(f"{name or column} IS NOT NULL"))


def of_dispatch() -> ForeignKeyConstraint:
    """Return the reference to a dispatch."""
    return ForeignKeyConstraint(
        ["round_id", "task_id", "hotkey"], ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"]
    )


def of_task() -> ForeignKeyConstraint:
    """Return the reference to a task."""
    return ForeignKeyConstraint(["round_id", "task_id"], ["tasks.round_id", "tasks.task_id"])
