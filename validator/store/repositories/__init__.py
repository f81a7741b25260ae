"""One repository per aggregate; a `Transaction` carries one of each."""
