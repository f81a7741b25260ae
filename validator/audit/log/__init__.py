"""The log of receipts as a file of lines: written from a store, verified without one (docs/auditors.md)."""
