#!/usr/bin/env bash
# Empties a cache folder. CACHE_DIR and CACHE_HOOK may come from the caller.

target=${CACHE_DIR:-cache}
hook=${CACHE_HOOK:-true}

mkdir -p cache/pages cache/images
touch cache/pages/one.html cache/images/one.png
chmod 777 cache
eval "$hook before"
ls cache
rm -rf "$target"
eval "$hook after"
mkdir -p cache
echo done
