"""Run by Alembic; `validator.store.schema` hands it the connection and owns the transaction.

The steps in versions/ are frozen: each names the one before it and plain column types, and imports nothing of the
program.
"""

from alembic import context

from validator.store.schema import VERSION_TABLE
from validator.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
    on_version_apply=context.config.attributes.get("on_version_apply"),
)
with context.begin_transaction():
    context.run_migrations()
