"""`python -m validator.settings` prints the documented example, config/validator.toml."""

import sys

from validator.settings.reference import example_toml

sys.stdout.write(example_toml())
