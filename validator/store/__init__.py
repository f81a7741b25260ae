"""The tables of the flow on SQLite or Postgres: one transaction at a time, one repository per aggregate."""

from validator.store.dispatch import DispatchKey
from validator.store.engine import Store
from validator.store.lasting import PATIENCE_S
from validator.store.opening import open_store
from validator.store.schema import SchemaState, schema_state, upgrade
from validator.store.transaction import Transaction

__all__ = ["PATIENCE_S", "DispatchKey", "SchemaState", "Store", "Transaction", "open_store", "schema_state", "upgrade"]
