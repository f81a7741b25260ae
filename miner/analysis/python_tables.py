"""Names of Python's libraries that the rules know: what fetches, sends, decodes, runs; which files hold secrets."""

import re
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HTTP: Final = "requests httpx aiohttp niquests treq grequests curl_cffi.requests urllib3"
_VERBS: Final = "get post put patch request head delete options stream"
FETCHERS: Final = frozenset(f"{module}.{verb}" for module in _HTTP.split() for verb in _VERBS.split()) | _names(
    """urllib.request.urlopen urllib.request.urlretrieve urllib2.urlopen urllib.urlopen wget.download
    httplib2.Http.request pip._vendor.requests.get pip._vendor.requests.post six.moves.urllib.request.urlopen"""
)
LOOKUPS: Final = _names(
    """socket.getaddrinfo socket.gethostbyname socket.gethostbyname_ex dns.resolver.resolve dns.resolver.query
    dns.query.udp webbrowser.open webbrowser.open_new webbrowser.open_new_tab"""
)
SOCKETS: Final = _names(
    """socket.socket socket.create_connection ssl.wrap_socket asyncio.open_connection websocket.create_connection
    websockets.connect websockets.sync.client.connect websocket.WebSocketApp websocket.WebSocket telnetlib.Telnet
    asyncio.open_unix_connection trio.open_tcp_stream anyio.connect_tcp multiprocessing.connection.Client
    gevent.socket.create_connection pwn.remote"""
)
CLIENTS: Final = _names(
    """http.client.HTTPConnection http.client.HTTPSConnection httplib.HTTPConnection httplib.HTTPSConnection
    requests.Session requests.session httpx.Client httpx.AsyncClient aiohttp.ClientSession smtplib.SMTP
    smtplib.SMTP_SSL smtplib.LMTP ftplib.FTP ftplib.FTP_TLS urllib3.PoolManager urllib3.HTTPConnectionPool
    urllib3.HTTPSConnectionPool urllib3.connection_from_url paramiko.SSHClient paramiko.Transport
    paramiko.SFTPClient.from_transport imaplib.IMAP4_SSL imaplib.IMAP4 poplib.POP3_SSL nntplib.NNTP
    urllib.request.build_opener urllib.request.OpenerDirector urllib.request.URLopener xmlrpc.client.ServerProxy
    boto3.client boto3.resource boto3.Session slack_sdk.WebClient slack_sdk.webhook.WebhookClient telegram.Bot
    telebot.TeleBot discord.Webhook.from_url discord.SyncWebhook.from_url discord_webhook.DiscordWebhook
    paho.mqtt.client.Client pika.BlockingConnection redis.Redis pymongo.MongoClient httplib2.Http
    google.cloud.storage.Client azure.storage.blob.BlobServiceClient github.Github grpc.insecure_channel
    fabric.Connection pysftp.Connection requests_futures.sessions.FuturesSession cloudscraper.create_scraper
    dropbox.Dropbox pycurl.Curl logging.handlers.HTTPHandler logging.handlers.SysLogHandler"""
)
SENDING_METHODS: Final = _names(
    """send sendall sendto sendmsg sendfile write writelines post put patch get request head delete options stream
    sendmail send_message storbinary storlines putrequest putheader endheaders open put_object upload_file
    upload_fileobj upload_from_string upload_from_filename upload_blob putfo publish send_json send_str send_bytes
    send_text emit urlopen exec_command append set lpush rpush files_upload files_upload_v2
    chat_postMessage send_document files_upload setopt basic_publish insert_one create_issue create_gist system
    update transact mkd cwd voidcmd sendcmd"""
)
# Of objects that nothing is known of: methods that nothing but a connection has.
SENDING_ANYWHERE: Final = _names("sendall sendto sendmail storbinary storlines post endheaders send_message")
NETWORK_MODULES: Final = re.compile(
    r"(?:socket|http|urllib|requests|httpx|aiohttp|smtplib|ftplib|urllib3|websockets?|paramiko|boto3|asyncio|ssl"
    r"|xmlrpc|telnetlib|imaplib|poplib|dns|webbrowser|subprocess|os|pty|slack_sdk|telegram|discord|pycurl|httplib2)"
    r"(?:\.|$)"
)
CREDENTIAL_KEYWORDS: Final = _names("headers auth cookies cert password passwd user username token api_key env")
DECODERS: Final = _names(
    """base64.b64decode base64.urlsafe_b64decode base64.standard_b64decode base64.b85decode base64.a85decode
    base64.b32decode base64.b16decode base64.decodebytes base64.decodestring zlib.decompress gzip.decompress
    bz2.decompress lzma.decompress brotli.decompress zstandard.decompress marshal.loads marshal.load codecs.decode
    bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex binascii.a2b_base64 binascii.a2b_uu
    zlib.decompressobj quopri.decodestring uu.decode"""
)
EVALUATORS: Final = _names("eval exec code.interact code.InteractiveInterpreter.runsource execfile")
UNPICKLERS: Final = frozenset(
    f"{module}.{name}"
    for module in ("pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal")
    for name in ("load", "loads", "Unpickler")
) | _names("shelve.open jsonpickle.decode joblib.load pandas.read_pickle torch.load torch.hub.load numpy.load")
QUIET_UNPICKLERS: Final = _names("pandas.read_pickle torch.load torch.hub.load numpy.load")  # fetched data only
LOADERS: Final = _names(
    """ctypes.CDLL ctypes.cdll.LoadLibrary ctypes.PyDLL ctypes.WinDLL ctypes.windll.LoadLibrary ctypes.OleDLL
    cffi.FFI.dlopen runpy.run_path runpy.run_module importlib.util.spec_from_file_location
    importlib.machinery.SourceFileLoader importlib.machinery.ExtensionFileLoader imp.load_source imp.load_dynamic
    imp.load_compiled zipimport.zipimporter types.FunctionType types.CodeType importlib.util.spec_from_loader
    importlib.import_module __import__ ctypes.cdll.LoadLibrary _ctypes.dlopen sys.path.insert sys.path.append"""
)
SHELLS: Final = _names(
    """os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell
    commands.getoutput commands.getstatusoutput popen2.popen2 os.popen2 posix.system nt.system"""
)
SPAWNERS: Final = SHELLS | _names(
    """subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen
    asyncio.create_subprocess_exec os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.spawnl
    os.spawnle os.spawnlp os.spawnv os.spawnve os.spawnvp os.posix_spawn os.posix_spawnp os.startfile pty.spawn
    pexpect.spawn pexpect.run sh.Command plumbum.local anyio.run_process anyio.open_process trio.run_process"""
)
SHELL_PROGRAMS: Final = _names("sh bash zsh dash ksh fish cmd cmd.exe powershell powershell.exe pwsh busybox")
INTERPRETERS: Final = SHELL_PROGRAMS | _names("python python3 perl ruby node php")
COURIERS: Final = _names(
    """curl wget nc ncat netcat socat scp sftp rsync ssh ftp tftp telnet mail mailx sendmail dig nslookup host
    aws gsutil gcloud az rclone http https xh curl.exe openssl ping gh"""
)
OPENERS: Final = _names(
    """open io.open codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile tarfile.TarFile aiofiles.open
    os.fdopen os.open anyio.open_file pathlib.Path.open sqlite3.connect os.startfile"""
)
READERS: Final = _names(
    """configparser.ConfigParser.read linecache.getlines linecache.getline numpy.fromfile mmap.mmap netrc.netrc
    dotenv.dotenv_values fileinput.input aiosqlite.connect pandas.read_csv pathlib.Path.read_text
    pathlib.Path.read_bytes"""
)
SECRET_STORES: Final = re.compile(
    r"(?:keyring\.get_(?:password|credential)|secretstorage\.\w+|browser_cookie3\.\w+|browsercookie\.\w+|pycookiecheat\.\w+"
    r"|netrc\.netrc|win32crypt\.CryptUnprotectData|spwd\.\w+|google\.auth\.default|win32clipboard\.\w+"
    r"|pyperclip\.paste)$"
)
SECRET_NAME: Final = re.compile(r"(?i)secret|token|passw|credential|api_?key|private|aws_|session|auth|_key$|^key$")
SECRET_PATH: Final = re.compile(
    r"""(?ix) (?:^|[/\\~\0\s"'=@]) (?:
        \.ssh (?:$|[/\\](?!known_hosts|config|authorized_keys))
      | \.aws (?:$|[/\\]) | [._]netrc | \.npmrc | \.pypirc | \.pgpass | \.my\.cnf | \.gnupg | \.kube (?:$|[/\\])
      | \.docker [/\\] config | \.git-credentials | \.config [/\\] (?:gcloud|gh|hub|doctl|op|rclone|filezilla) \b
      | \.azure | \.vault-token | \.terraform | \.boto | \.s3cfg | \.dockercfg | \.password-store | \.htpasswd
      | \.electrum | \.bitcoin | \.ethereum | \.solana | \.cargo [/\\] credentials | \.gem [/\\] credentials
      | \.(?:bash|zsh|python|psql|mysql|node_repl)_history | \.env (?:$|[\s.]) | \.mozilla | \.thunderbird
    )
    | \b id_(?:rsa|dsa|ecdsa|ed25519) \b | Login\ Data | (?:^|[/\\])(?:Cookies|Local\ State|Web\ Data) $
    | \.keyring \b | keychain | [/\\]keyrings \b | logins\.json | key[34]\.db | cookies\.sqlite
    | /etc/(?:g?shadow|sudoers|krb5\.keytab) | /proc/[^/]+/environ | wallet\.dat | \.kdbx\b
    | google-chrome | [/\\]chromium[/\\] | BraveSoftware | Microsoft\ Edge | application_default_credentials
    | service[-_]account[^/]*\.json | accessTokens\.json | access_tokens\.db | msal_token_cache
    | /run/secrets | aws/credentials | Firefox[/\\]Profiles | Discord[/\\]Local\ Storage | leveldb$ | \.p(?:12|fx)$
    | (?:exodus|metamask|electrum|ledger\ live)\b .{0,40} wallet"""
)
METADATA_HOST: Final = re.compile(r"169\.254\.169\.254|metadata\.google\.internal|169\.254\.170\.2")
START_PATH: Final = re.compile(
    r"""(?ix) (?:^|[/\\~\0]) \.(?:bashrc|zshrc|zshenv|zprofile|zlogin|profile|bash_profile|bash_login|bash_aliases
        |kshrc|cshrc|tcshrc|xprofile|xinitrc|xsession|xsessionrc|vimrc|inputrc|pythonrc|pythonstartup) $
    | (?:^|/)\.config/fish/ | /etc/(?:cron|init\.d|init/|rc\.local|rc\d?\.d|profile|bash\.bashrc|ld\.so\.preload|systemd
        |environment|sudoers|xdg/autostart|update-motd|zsh) | (?:^|/)(?:var/)?spool/cron | crontab $
    | systemd[/\\](?:user|system) | autostart | Launch(?:Agents|Daemons) | authorized_keys | site?customize\.py
    | Start\ Menu[/\\]Programs[/\\]Startup | site-packages[/\\][^/\\]*\.pth$
    | \.git[/\\]hooks[/\\] | hooks[/\\](?:pre|post)-
    | \.gitconfig$ | \.ssh[/\\](?:config|rc)$"""
)
START_COMMAND: Final = re.compile(
    r"(?i)(?:^|[;&|(]\s*|\bsudo\s+)(?:\S*/)?(?:crontab\s+(?!-l\b)\S|systemctl\s+(?:--\S+\s+)*enable\b|launchctl\s+(?:load|bootstrap)\b"
    r"|schtasks(?:\.exe)?\s.*?/create|update-rc\.d\s|chkconfig\s|reg(?:\.exe)?\s+add\b.*\\Run\b|loginctl\s+enable-linger)"
    r"|\|\s*crontab\b|git\s+config\s+--global\s+core\.hooksPath"
)
FOREIGN_INSTALL: Final = re.compile(
    r"\bpip3?\s+install\b[^;&|]{0,400}(?:\s(?:-i|--index-url|--extra-index-url|--find-links)[ =]\S*?://|\s(?:git\+)?https?://)"
)
UNCHECKED_COMMAND: Final = re.compile(
    r"\bcurl\b[^;&|]{0,400}\s(?:-[a-zA-Z]{0,8}k[a-zA-Z]{0,8}|--insecure)(?:\s|$)|\bwget\b[^;&|]{0,400}\s--no-check-certificate"
)
_FOLDERS: Final = (
    r"Documents|Desktop|Downloads|Pictures|Music|Videos|Movies|Public|Library|projects?|work(?:space)?|src|code|repos?"
    r"|dev|git|\.ssh|\.config|\.local|OneDrive|Dropbox"
)
BROAD_PATH: Final = re.compile(
    rf"(?i)(?:~|/|/home|/Users|/root|/etc|/usr|/var|/opt|/srv|/bin|/lib|/boot|/mnt|/media|[A-Z]:[\\/]?)"
    rf"(?:/(?:[*\0]{{1,2}}))*/?|~/(?:{_FOLDERS})(?:/[*\0]*)*/?|/(?:home|Users)/[\0\w-]+(?:/(?:{_FOLDERS}))?(?:/[*\0]*)*"
)
DELETERS: Final = _names("shutil.rmtree os.remove os.unlink os.rmdir os.removedirs send2trash.send2trash")
RECURSIVE_DELETERS: Final = _names("shutil.rmtree os.removedirs")
# What makes data of data: content goes through these, and through methods of what holds it.
CARRYING_MODULES: Final = re.compile(
    r"(?:json|base64|zlib|gzip|bz2|lzma|binascii|codecs|urllib\.parse|io|struct|string|textwrap|itertools|functools"
    r"|pickle|marshal|email|html|csv|operator|copy|yaml|tomllib|toml|ujson|orjson|msgpack|quopri|collections|re|uuid"
    r"|urllib\.request\.Request|requests\.Request|httpx\.Request|cryptography|Crypto|nacl|hashlib|hmac|asyncio|types"
    r"|configparser|dataclasses|ast|random|shlex|tempfile|tarfile|zipfile|aiohttp\.FormData|requests_toolbelt"
    r"|httpx\.BasicAuth|subprocess|difflib|pprint|heapq|os\.path|pathlib|posixpath|concurrent|threading)(?:\.|$)"
)
CARRYING: Final = _names(
    """str bytes bytearray repr ascii dict list tuple set frozenset sorted reversed iter next enumerate zip map filter
    format memoryview sum max min vars chr hex oct bin compile super getattr anext aiter slice"""
)
DROPPING: Final = _names(
    "len bool isinstance hash id type callable print hasattr any all int float ord round abs issubclass"
)
DANGEROUS_MODULES: Final = _names(
    "builtins __builtins__ os subprocess ctypes pickle marshal socket shutil importlib posix nt pty sys"
)
VERIFYING: Final = re.compile(r"(?i)requests|httpx|aiohttp|niquests|urllib3|httplib2|websockets?|boto3|session|client")
# Functions that others are handed, to be called later.
PASSED: Final = EVALUATORS | SPAWNERS | FETCHERS | LOOKUPS | UNPICKLERS
