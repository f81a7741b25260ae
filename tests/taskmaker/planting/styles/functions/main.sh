#!/usr/bin/env bash
#
# Functions, here-documents and quotes over lines.

set -euo pipefail
shopt -s nullglob

say() {
  local text="$1"

  echo "said: ${text}"
}

function usage {
  cat <<-'TEXT'
	Usage: main.sh

	it's { not ( closed
	TEXT
}

case "${1:-}" in
  -h|--help) usage; exit 0 ;;

  *) : ;;
esac

if [[ $# -gt 5 && -n "$1" ]]; then

  usage
fi

note='first

second'

say "$note" |
  cat

false || status=$?

( cd / && pwd )

main() { say "end $((1 + 2))"; usage; }

main "$@"
