"""`validator completion`: prints a script by which bash, zsh or fish complete commands and options."""

from typing import Annotated, Final, Literal

import typer

from validator.cli.dispatch import COMPLETE

Shell = Literal["bash", "zsh", "fish"]
# Each asks this program, which answers from its index; where it says nothing, files are offered.
_SCRIPTS: Final[dict[Shell, str]] = {
    "bash": f"""\
_validator() {{
    mapfile -t COMPREPLY < <("${{COMP_WORDS[0]}}" {COMPLETE} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)
}}
complete -o default -F _validator validator
""",
    "zsh": f"""\
#compdef validator
_validator() {{
    local -a found
    found=("${{(@f)$("${{words[1]}}" {COMPLETE} "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    if [[ -n "${{found[*]}}" ]]; then compadd -- "${{found[@]}}"; else _files; fi
}}
if [[ "${{funcstack[1]}}" == _validator ]]; then _validator "$@"; else compdef _validator validator; fi
""",
    "fish": f"""\
function __validator
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    command $words[1] {COMPLETE} $words[2..] (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command validator --arguments "(__validator)"
""",
}


def completion(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the script that makes a shell complete commands and options.

    bash: write it to ~/.local/share/bash-completion/completions/validator. zsh: to _validator in a folder of $fpath.
    fish: to ~/.config/fish/completions/validator.fish. The next shell completes.
    """
    typer.echo(_SCRIPTS[shell], nl=False)
