"""What the calls of Node's own modules, of browsers and of the usual packages do: names, as `names.py` gives them."""

import re
from typing import Final

from validator.protocol import vocabulary as cap


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    """Return names from lines of `prefix: name name`, each with its prefix; a line without one holds whole names."""
    found = set()
    for line in text.strip().splitlines():
        prefix, colon, names = line.strip().rpartition(": ")
        found |= {f"{prefix}.{name}" if colon else name for name in names.split()}
    return frozenset(found)


def _both(text: str) -> str:
    """Return names of `fs` with their synchronous, promised and Deno's kin."""
    return " ".join(f"fs.{name} fs.{name}Sync fs.promises.{name}" for name in text.split())


READERS: Final = _names(_both("readFile createReadStream readdir open opendir readlink")) | _names(
    "Deno: readFile readTextFile readDir open readFileSync readTextFileSync\nBun.file"
)
WRITERS: Final = _names(
    _both("writeFile appendFile mkdir mkdtemp rename copyFile cp chmod chown symlink link truncate createWriteStream")
) | _names("Deno: writeFile writeTextFile mkdir rename copyFile writeFileSync writeTextFileSync\nBun.write")
COPIERS: Final = _names(_both("copyFile cp rename link symlink")) | _names("fs.copy fs.move fs.copySync fs.moveSync")
DELETERS: Final = _names(_both("unlink rm rmdir")) | _names(
    "rimraf fs.remove fs.removeSync Deno.remove del.deleteAsync"
)

SHELLS: Final = _names("child_process: exec execSync\nshelljs: exec\nexeca: execaCommand execaCommandSync command")
SPAWNERS: Final = SHELLS | _names(
    "child_process: spawn spawnSync execFile execFileSync fork\nexeca execa.execa execa.execaSync execa.$ zx.$ "
    "Bun.spawn Bun.spawnSync Deno.Command Deno.run node-pty.spawn worker_threads.Worker"
)
SHELL_PROGRAMS: Final = frozenset(
    {"sh", "bash", "zsh", "dash", "ksh", "ash", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh"}
)

EVALUATORS: Final = _names(
    "eval Function vm.Script vm.SourceTextModule\nvm: runInThisContext runInNewContext runInContext compileFunction"
)
TIMERS: Final = _names("setTimeout setInterval setImmediate")  # they run a text as code
UNSERIALIZERS: Final = _names(
    "node-serialize.unserialize serialize-to-js.deserialize funcster.deepDeserialize cryo.parse"
)
NATIVE: Final = _names("process.dlopen ffi-napi.Library ffi-napi koffi.load ffi.Library Deno.dlopen bun:ffi.dlopen")
DECODERS: Final = _names(
    "atob unescape pako.inflate pako.ungzip lz-string.decompressFromBase64\n"
    "zlib: inflateSync gunzipSync inflateRawSync brotliDecompressSync unzipSync inflate gunzip brotliDecompress"
)

FETCHERS: Final = _names(
    "fetch axios got superagent ky needle request undici.request undici.stream\n"
    "axios: get post put patch delete request head\ngot: get post put patch stream\n"
    "superagent: get post put patch\nky: get post put patch\nneedle: get post put\nrequest: get post put\n"
    "http: get request\nhttps: get request\nhttp2: connect"
)
# They give an object that is written to afterwards.
CONNECTORS: Final = _names(
    "net: connect createConnection Socket\ntls: connect\ndgram: createSocket\nhttp: request\nhttps: request\n"
    "superagent: post put patch\nXMLHttpRequest WebSocket ws ws.WebSocket EventSource nodemailer.createTransport "
    "Deno.connect Bun.connect"
)
SOCKETS: Final = _names(
    "net: connect createConnection Socket\ntls: connect\nWebSocket ws ws.WebSocket Deno.connect Bun.connect"
)
SERVERS: Final = _names("net: createServer\ntls: createServer")  # their callback gets a connection
RESOLVERS: Final = _names(
    "dns: lookup resolve resolve4 resolve6 resolveTxt\ndns.promises: lookup resolve resolve4 resolveTxt"
) | {"navigator.sendBeacon"}
SENDERS: Final = FETCHERS | RESOLVERS
SENDING_METHODS: Final = frozenset({"write", "end", "send", "sendMail", "emit", "attach", "field"})
NETWORK_MODULES: Final = words(
    """
    http https http2 net tls dgram dns dns/promises axios got node-fetch cross-fetch undici superagent ky needle
    request ws socket.io-client nodemailer ssh2 express fastify koa hono
    """
)
PROCESS_MODULES: Final = frozenset({"child_process", "execa", "shelljs", "zx", "cross-spawn", "node-pty"})
NATIVE_MODULES: Final = frozenset({"ffi-napi", "koffi", "ref-napi", "ffi", "bun:ffi"})

CAPABILITY_OF: Final = {
    **dict.fromkeys(READERS, cap.FILE_READ),
    **dict.fromkeys(WRITERS, cap.FILE_WRITE),
    **dict.fromkeys(DELETERS, cap.FILE_DELETE),
    **dict.fromkeys(SPAWNERS, cap.SUBPROCESS),
    **dict.fromkeys(EVALUATORS, cap.DYNAMIC_CODE),
    **dict.fromkeys(UNSERIALIZERS | {"v8.deserialize"}, cap.SERIALIZATION),
    **dict.fromkeys(NATIVE, cap.NATIVE_CODE),
    **dict.fromkeys(SENDERS | CONNECTORS | SERVERS | {"http.createServer", "https.createServer"}, cap.NETWORK),
}

# What a value that holds a secret becomes, and still holds it.
CARRIERS: Final = _names(
    "String JSON.stringify encodeURIComponent encodeURI btoa escape structuredClone util.inspect util.format "
    "querystring.stringify qs.stringify yaml.stringify Array.from Promise.all Promise.resolve Promise.allSettled URL "
    "stream.Readable.from stream.Readable.fromWeb "
    "URLSearchParams Headers FormData Request Blob Uint8Array TextEncoder Map Set Array Error Date\n"
    "Object: entries values assign fromEntries\nBuffer: from concat\npath: join resolve normalize\n"
    "path.posix: join resolve\nzlib: gzipSync deflateSync gzip deflate brotliCompressSync"
)
KEEPERS: Final = words(
    """
    startsWith endsWith includes indexOf lastIndexOf has test some every isBuffer equals
    localeCompare createHmac createHash createSign sign digest length size byteLength keys
    """
)
ADDERS: Final = frozenset({"append", "set", "push", "unshift", "add", "setHeader", "concat"})
CREDENTIAL_KEYS: Final = frozenset(
    {"headers", "header", "auth", "authorization", "apikey", "api_key", "token", "cookies", "cert", "key", "agent"}
)

SECRET_VARIABLE: Final = re.compile(
    r"(?i)secret|token|passw|credential|api_?key|private|aws_|session|auth|_key$|^key$|_pat$|mnemonic|_pwd$"
)
HOLDERS: Final = words("globalThis global window self process child_process vm module Reflect")
# They tell of a text what is in it: pieces of a secret, but no code.
TAKING: Final = frozenset({"match", "matchAll"})
