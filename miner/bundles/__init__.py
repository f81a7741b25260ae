"""Written bundles: small skills of every type, good and bad, with what is true of them. The bad ones do no harm."""
