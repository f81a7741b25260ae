"""What programs do, for the rules about shell scripts."""

import re
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS: Final = _words("sh bash zsh dash ksh ash fish")
INTERPRETERS: Final = SHELLS | _words("python python2 python3 perl ruby node php bun deno lua osascript pwsh")
DOWNLOADERS: Final = _words("curl wget fetch aria2c http https lynx wget2 curlie xh axel")
CONVERSING: Final = _words("nc ncat netcat socat telnet")  # what they print was sent to them
RESOLVERS: Final = _words("dig nslookup host getent drill kdig resolvectl ping ping6")
COPIERS: Final = _words("scp sftp rsync ftp lftp tftp rclone gsutil s3cmd smbclient croc")
SENDERS: Final = CONVERSING | RESOLVERS | COPIERS | _words("ssh mail mailx mutt sendmail swaks websocat logger-remote")
DECODERS: Final = {
    "base64": ("-d", "--decode", "-D", "-di", "-id"),
    "base32": ("-d", "--decode"),
    "basenc": ("-d", "--decode"),
    "xxd": ("-r", "-rp", "-r -p"),
    "openssl": ("enc", "-d"),
    "uudecode": (),
    "gunzip": (),
    "zcat": (),
    "rev": (),
}
UNPACKERS: Final = _words("gzip bzip2 xz zstd gpg")  # decoders with `-d`
WRAPPERS: Final = _words(
    "sudo doas exec command builtin nohup time timeout xargs nice ionice env stdbuf setsid busybox chronic torify"
)
# Their output says nothing of what they read.
TELLERS: Final = _words(
    "wc test [ [[ ls stat file cmp cksum md5sum sha1sum sha256sum sha512sum shasum du rm touch mkdir"
)
# They name a file of credentials, and do not read it out.
KEEPERS: Final = TELLERS | _words(
    "chmod chown chgrp cd ssh-keygen ssh-add ssh-keyscan echo printf export local declare readonly typeset read find"
    " ln unlink rmdir shred install pushd source . git unset"
)
REVEALERS: Final = _words("env printenv export set declare typeset")
# Programs that print a credential, by the word that follows.
KEY_STORES: Final = {
    "security": _words("find-generic-password find-internet-password dump-keychain export"),
    "secret-tool": _words("lookup search"),
    "pass": _words("show"),
    "gpg": _words("--export-secret-keys --export-secret-key --export-secret-subkeys"),
    "gh": _words("auth"),
    "gcloud": _words("auth"),
    "op": _words("read item"),
    "vault": _words("read kv"),
    "kwallet-query": _words("-r"),
}
OPEN_MODES: Final = re.compile(r"0?777|0?666|a\+rwx|[ugoa]*\+s|[2467][0-7]{3}")
DURATION: Final = re.compile(r"\d+(?:\.\d+)?[smhd]?")
NETWORK_FILES: Final = ("/dev/tcp/", "/dev/udp/")
# Code in one line that opens connections, and what hands a shell to one.
ONE_LINERS: Final = re.compile(
    r"urllib|requests\b|https?\b|socket|fetch\(|axios|LWP|IO::Socket|Net::|fsockopen|TCPSocket|/inet/|net\.connect|XMLHttp"
)
SOCKET: Final = re.compile(r"(?i)socket|fsockopen|/inet/|net\.connect|\bnet\b")
SHELL_IN_CODE: Final = re.compile(
    r"pty\.spawn|dup2|/bin/(?:ba|z|da)?sh\b|\bexec\b|proc_open|shell_exec|cmd\.exe|getline"
)
UNCHECKED: Final = _words(
    "--insecure --no-check-certificate --no-check-certificates --check-certificate=false --verify=no --no-verify-ssl"
    " --ssl-no-revoke --proxy-insecure --trust-server-names --allow-unauthenticated --no-gpg-check --nogpgcheck"
    " StrictHostKeyChecking=no -oStrictHostKeyChecking=no http.sslVerify=false"
) - {"--trust-server-names", "--ssl-no-revoke"}
UNCHECKED_VARIABLES: Final = {
    "NODE_TLS_REJECT_UNAUTHORIZED": ("0",),
    "GIT_SSL_NO_VERIFY": ("1", "true"),
    "PYTHONHTTPSVERIFY": ("0",),
    "NPM_CONFIG_STRICT_SSL": ("false",),
    "npm_config_strict_ssl": ("false",),
    "CURL_INSECURE": ("1",),
}
