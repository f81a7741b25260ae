"""Paths that tell what somebody is after: files of credentials, files that make programs start, folders of people.

The patterns are searched in a path as code spells it, `$HOME/.ssh/id_rsa` or `.ssh/`, whatever the language.
"""

import re
from typing import Final

CREDENTIALS: Final = re.compile(
    r"(?:^|[/\\~\"'=@])\.(?:ssh|aws|gnupg|kube|azure|netrc|pgpass|my\.cnf|git-credentials|npmrc|pypirc|vault-token|s3cfg|boto"
    r"|password-store|docker/config|terraform\.d/credentials|cargo/credentials|gem/credentials|m2/settings"
    r"|(?:bash|zsh)_history|electrum|bitcoin|mozilla|thunderbird)\b"
    r"|\.config/(?:gcloud|gh/|hub\b|rclone|op\b|google-chrome|chromium|BraveSoftware|microsoft-edge|filezilla|doctl|solana)"
    r"|\bid_(?:rsa|dsa|ed25519|ecdsa)\b|/etc/(?:g?shadow|sudoers)\b|/proc/[^/]{1,16}/environ|/run/secrets/"
    r"|Login Data|(?:Default|Network|Chrome|Firefox)/Cookies\b|cookies\.sqlite|logins\.json|key[34]\.db"
    r"|keychain-db|Library/Keychains|share/keyrings|\bkeyrings?/|wallet\.dat|keystore/UTC"
    r"|(?:Google/Chrome|google-chrome|BraveSoftware|Firefox/Profiles|Microsoft/Edge)(?:/|\b)"
    r"|application_default_credentials|accessTokens\.json|gcloud/credentials"
)
OWN_CREDENTIALS: Final = re.compile(r"(?i)(?:^|/)\.env(?:\.\w{1,16})?$|keystore")  # those of the skill itself
START: Final = re.compile(
    r"\.(?:bashrc|bash_profile|bash_login|bash_logout|zshrc|zshenv|zprofile|zlogin|profile|xinitrc|xsession|xprofile"
    r"|pam_environment)\b|/etc/(?:cron|init|profile|systemd|rc|ld\.so\.preload|environment|xdg/autostart|periodic)"
    r"|spool/cron|crontab|authorized_keys|[Aa]utostart/|LaunchAgents|LaunchDaemons|systemd/(?:user|system)\b"
    r"|fish/(?:config\.fish|conf\.d)|Start Menu.{1,40}Startup|\.git/hooks/(?!\S{0,40}\.sample)"
    r"|CurrentVersion.{1,2}Run\b"
)
# The home folder as a whole, or one of those in it that people put their work in.
_FOLDERS: Final = (
    r"(?:Documents|Desktop|Downloads|Pictures|Photos|Music|Videos|Movies|Library|OneDrive|Dropbox|[Pp]rojects?|[Rr]epos"
    r"|workspace|work|src|code|dev|git|\.config|\.local|\.ssh|\.gnupg|\.mozilla|\.thunderbird)"
)
HOME_FOLDER: Final = re.compile(rf"/?{_FOLDERS}/?")
HOME: Final = re.compile(
    rf"(?:\$HOME|\$\{{HOME[^}}]{{0,32}}\}}|~|/home(?:/[^/]{{1,64}})?|/root|/Users/[^/]{{1,64}})(?:/{_FOLDERS})?/?"
)
