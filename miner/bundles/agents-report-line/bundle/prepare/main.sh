#!/usr/bin/env bash
# Sorts the measurements.
set -eu

mkdir -p out
sort -n measurements.txt > out/sorted.txt
wc -l out/sorted.txt
