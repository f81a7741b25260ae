"""JavaScript and TypeScript: what is read of them, and by which rules. Nothing is run, no module is resolved."""
