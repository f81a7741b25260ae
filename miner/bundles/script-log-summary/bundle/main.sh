#!/usr/bin/env bash
# Counts requests by status and path.
set -euo pipefail

mkdir -p out
cut -d ' ' -f 3 data/access.log | sort | uniq -c > out/by-status.txt
cut -d ' ' -f 2 data/access.log | sort | uniq -c > out/by-path.txt
wc -l data/access.log
cat out/by-status.txt out/by-path.txt
