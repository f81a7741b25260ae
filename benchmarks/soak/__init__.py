"""A soak of the local network: `make soak` runs it at 20 times normal speed and watches the validator from outside."""
