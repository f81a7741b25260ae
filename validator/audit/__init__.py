"""What happened and why, from the store: views for operators; later replay, explain and offline checks."""
