"""Known advisories on widely used Python packages: real ids, real affected ranges (PyPA and GitHub advisory databases).

A shipped table, so that the local network needs no service. It is a sample, not a vulnerability database.
"""

from collections import defaultdict
from functools import cache
from typing import Final, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from validator.protocol.sssa import Severity


class Advisory(NamedTuple):
    """One vulnerability of one package.

    Attributes:
        package: canonical name.
        cve: its id.
        affected: version specifiers; a version is affected if it meets one of them.
        severity: as the GitHub advisory database grades it.
        summary: what goes wrong.
    """

    package: str
    cve: str
    affected: tuple[str, ...]
    severity: Severity
    summary: str


TABLE: Final[tuple[Advisory, ...]] = (
    Advisory("aiohttp", "CVE-2023-37276", ("<3.8.5",), "medium", "HTTP request smuggling through the bundled llhttp."),
    Advisory(
        "aiohttp", "CVE-2023-49081", ("<3.9.0",), "medium", "CRLF injection through the HTTP version of a request."
    ),
    Advisory(
        "aiohttp", "CVE-2024-23334", (">=1.0.5,<3.9.2",), "high", "Static routes that follow links read any file."
    ),
    Advisory(
        "aiohttp", "CVE-2024-30251", ("<3.9.4",), "high", "A malformed multipart body keeps the server busy forever."
    ),
    Advisory("black", "CVE-2024-21503", ("<24.3.0",), "medium", "Regular expression denial of service on tabs."),
    Advisory(
        "certifi", "CVE-2022-23491", (">=2017.11.5,<2022.12.7",), "medium", "TrustCor root certificates are trusted."
    ),
    Advisory(
        "certifi", "CVE-2023-37920", (">=2015.4.28,<2023.7.22",), "high", "e-Tugra root certificates are trusted."
    ),
    Advisory(
        "cryptography", "CVE-2020-36242", (">=3.1,<3.3.2",), "critical", "Overflow when very large data is encrypted."
    ),
    Advisory(
        "cryptography", "CVE-2023-0286", (">=0.8.1,<39.0.1",), "high", "The wheels hold an OpenSSL with type confusion."
    ),
    Advisory("cryptography", "CVE-2023-23931", (">=1.8,<39.0.1",), "medium", "update_into changes immutable buffers."),
    Advisory(
        "cryptography", "CVE-2023-49083", (">=3.1,<41.0.6",), "medium", "Loading some PKCS7 certificates crashes."
    ),
    Advisory(
        "django", "CVE-2021-35042", (">=3.1,<3.1.13", ">=3.2,<3.2.5"), "critical", "SQL injection through order_by."
    ),
    Advisory(
        "django",
        "CVE-2022-28346",
        (">=2.2,<2.2.28", ">=3.2,<3.2.13", ">=4.0,<4.0.4"),
        "critical",
        "SQL injection through annotate, aggregate and extra.",
    ),
    Advisory(
        "django",
        "CVE-2022-34265",
        (">=3.2,<3.2.14", ">=4.0,<4.0.6"),
        "critical",
        "SQL injection through Trunc and Extract.",
    ),
    Advisory(
        "django",
        "CVE-2023-36053",
        (">=3.2,<3.2.20", ">=4.0,<4.1.10", ">=4.2,<4.2.3"),
        "high",
        "Regular expression denial of service in the e-mail and URL validators.",
    ),
    Advisory(
        "fastapi", "CVE-2024-24762", ("<0.109.1",), "high", "Regular expression denial of service in form parsing."
    ),
    Advisory("flask", "CVE-2018-1000656", ("<0.12.3",), "high", "JSON in an unexpected encoding uses up memory."),
    Advisory(
        "flask",
        "CVE-2023-30861",
        ("<2.2.5", ">=2.3.0,<2.3.2"),
        "high",
        "A proxy may cache one client's session cookie.",
    ),
    Advisory("gunicorn", "CVE-2024-1135", ("<22.0.0",), "high", "HTTP request smuggling by conflicting headers."),
    Advisory("httplib2", "CVE-2020-11078", ("<0.18.0",), "medium", "CRLF injection through an unescaped URI."),
    Advisory("httplib2", "CVE-2021-21240", ("<0.19.0",), "high", "Regular expression denial of service in a header."),
    Advisory("idna", "CVE-2024-3651", ("<3.7",), "medium", "encode takes quadratic time on crafted names."),
    Advisory("jinja2", "CVE-2019-10906", ("<2.10.1",), "high", "Sandbox escape through str.format_map."),
    Advisory("jinja2", "CVE-2020-28493", ("<2.11.3",), "medium", "Regular expression denial of service in urlize."),
    Advisory("jinja2", "CVE-2024-22195", ("<3.1.3",), "medium", "xmlattr lets keys inject attributes."),
    Advisory(
        "jinja2", "CVE-2024-34064", ("<3.1.4",), "medium", "xmlattr lets keys inject attributes, beyond the first fix."
    ),
    Advisory("lxml", "CVE-2021-28957", ("<4.6.3",), "medium", "The HTML cleaner lets formaction through."),
    Advisory("lxml", "CVE-2021-43818", ("<4.6.5",), "high", "The HTML cleaner lets scripts in SVG through."),
    Advisory("mako", "CVE-2022-40023", ("<1.2.2",), "high", "Regular expression denial of service in the lexer."),
    Advisory("markdown-it-py", "CVE-2023-26303", ("<2.2.0",), "medium", "Crafted input makes the parser fail."),
    Advisory(
        "paramiko", "CVE-2022-24302", ("<2.9.3", ">=2.10.0,<2.10.1"), "medium", "A race while a private key is written."
    ),
    Advisory("paramiko", "CVE-2023-48795", ("<3.4.0",), "medium", "Prefix truncation of SSH sessions (Terrapin)."),
    Advisory("pillow", "CVE-2022-22817", ("<9.0.0",), "critical", "ImageMath.eval runs expressions."),
    Advisory("pillow", "CVE-2023-44271", ("<10.0.0",), "high", "Long text uses up memory in ImageFont."),
    Advisory("pillow", "CVE-2023-50447", ("<10.2.0",), "critical", "ImageMath.eval runs code through its environment."),
    Advisory("pip", "CVE-2019-20916", ("<19.2",), "high", "A download's header names a file outside its folder."),
    Advisory("pip", "CVE-2021-3572", ("<21.1",), "medium", "Unicode separators in git references change the revision."),
    Advisory("pip", "CVE-2023-5752", ("<23.3",), "medium", "A Mercurial revision injects options."),
    Advisory("pygments", "CVE-2021-20270", (">=1.5,<2.7.4",), "high", "The SML lexer loops forever."),
    Advisory(
        "pygments", "CVE-2022-40896", ("<2.15.1",), "medium", "Regular expression denial of service in three lexers."
    ),
    Advisory(
        "pyjwt", "CVE-2022-29217", (">=1.5.0,<2.4.0",), "high", "Key confusion through blocklisted public key formats."
    ),
    Advisory("pyyaml", "CVE-2017-18342", ("<5.1",), "critical", "yaml.load runs code that its input names."),
    Advisory("pyyaml", "CVE-2020-1747", (">=5.1,<5.3.1",), "critical", "FullLoader runs code that its input names."),
    Advisory(
        "pyyaml",
        "CVE-2020-14343",
        ("<5.4",),
        "critical",
        "FullLoader runs code that its input names, beyond the first fix.",
    ),
    Advisory(
        "requests", "CVE-2018-18074", ("<2.20.0",), "high", "Credentials are sent on after a redirect to plain HTTP."
    ),
    Advisory(
        "requests", "CVE-2023-32681", (">=2.3.0,<2.31.0",), "medium", "Proxy-Authorization leaks to the destination."
    ),
    Advisory("requests", "CVE-2024-35195", ("<2.32.0",), "medium", "A session keeps verify=False for its connections."),
    Advisory("requests", "CVE-2024-47081", ("<2.32.4",), "medium", "Crafted URLs leak .netrc credentials."),
    Advisory("rsa", "CVE-2020-25658", (">=2.1,<4.7",), "medium", "Decryption leaks through its timing."),
    Advisory(
        "setuptools", "CVE-2022-40897", ("<65.5.1",), "medium", "Regular expression denial of service in package_index."
    ),
    Advisory("setuptools", "CVE-2024-6345", ("<70.0.0",), "high", "Package URLs run commands in package_index."),
    Advisory("setuptools", "CVE-2025-47273", ("<78.1.1",), "high", "A package URL names a file outside its folder."),
    Advisory(
        "sqlparse",
        "CVE-2021-32839",
        (">=0.4.0,<0.4.2",),
        "high",
        "Regular expression denial of service in the formatter.",
    ),
    Advisory(
        "sqlparse",
        "CVE-2023-30608",
        (">=0.1.15,<0.4.4",),
        "medium",
        "Regular expression denial of service in the parser.",
    ),
    Advisory("sqlparse", "CVE-2024-4340", ("<0.5.0",), "high", "A deeply nested list exhausts the stack."),
    Advisory(
        "starlette", "CVE-2023-29159", (">=0.13.5,<0.27.0",), "medium", "StaticFiles reads files outside its folder."
    ),
    Advisory("starlette", "CVE-2023-30798", ("<0.25.0",), "high", "Forms with many fields use up memory."),
    Advisory("tornado", "CVE-2023-28370", ("<6.3.2",), "medium", "StaticFileHandler redirects to other sites."),
    Advisory("tqdm", "CVE-2024-34062", (">=4.4.0,<4.66.3",), "low", "Command line arguments are evaluated as Python."),
    Advisory(
        "twisted",
        "CVE-2022-21712",
        (">=11.1.0,<22.1.0",),
        "high",
        "Cookies and credentials follow redirects to other sites.",
    ),
    Advisory("twisted", "CVE-2022-24801", ("<22.4.0",), "high", "HTTP request smuggling by lax parsing."),
    Advisory(
        "urllib3",
        "CVE-2019-11324",
        ("<1.24.2",),
        "high",
        "The system's CA certificates are used against the caller's wish.",
    ),
    Advisory(
        "urllib3",
        "CVE-2021-33503",
        ("<1.26.5",),
        "high",
        "Regular expression denial of service in the URL's authority.",
    ),
    Advisory(
        "urllib3",
        "CVE-2023-43804",
        ("<1.26.17", ">=2.0.0,<2.0.6"),
        "medium",
        "Cookie headers follow redirects to other sites.",
    ),
    Advisory(
        "urllib3",
        "CVE-2023-45803",
        ("<1.26.18", ">=2.0.0,<2.0.7"),
        "medium",
        "A request's body follows a redirect after 303.",
    ),
    Advisory(
        "urllib3",
        "CVE-2024-37891",
        ("<1.26.19", ">=2.0.0,<2.2.2"),
        "medium",
        "Proxy-Authorization follows redirects to other sites.",
    ),
    Advisory("werkzeug", "CVE-2023-23934", ("<2.2.3",), "low", "A nameless cookie shadows another."),
    Advisory("werkzeug", "CVE-2023-25577", ("<2.2.3",), "high", "Multipart forms with many fields use up resources."),
    Advisory(
        "werkzeug", "CVE-2023-46136", ("<2.3.8", ">=3.0.0,<3.0.1"), "high", "A crafted upload keeps the server busy."
    ),
    Advisory(
        "werkzeug",
        "CVE-2024-34069",
        ("<3.0.3",),
        "high",
        "The debugger can be reached from a site that an attacker controls.",
    ),
    Advisory("wheel", "CVE-2022-40898", ("<0.38.1",), "high", "Regular expression denial of service in file names."),
    Advisory("gitpython", "CVE-2022-24439", ("<3.1.30",), "critical", "A URL with an ext transport runs commands."),
    Advisory("gitpython", "CVE-2023-40267", ("<3.1.32",), "critical", "Options of clone run commands."),
    Advisory("gitpython", "CVE-2024-22190", ("<3.1.41",), "high", "A program in the working folder is run on Windows."),
    Advisory(
        "h11",
        "CVE-2025-43859",
        ("<0.16.0",),
        "critical",
        "Chunked bodies that are malformed are taken: request smuggling.",
    ),
    Advisory(
        "mcp", "CVE-2025-53365", ("<1.10.0",), "high", "An exception of a streamable HTTP session ends the server."
    ),
    Advisory("mcp", "CVE-2025-53366", ("<1.9.4",), "high", "A malformed request ends the server."),
    Advisory("mcp", "CVE-2025-66416", ("<1.23.0",), "high", "No protection from DNS rebinding for HTTP servers."),
    Advisory(
        "paramiko",
        "CVE-2018-7750",
        ("<1.17.6", ">=1.18,<1.18.5", ">=2.0,<2.0.8", ">=2.1,<2.1.5", ">=2.2,<2.2.3", ">=2.3,<2.3.2", ">=2.4,<2.4.1"),
        "critical",
        "A server takes requests of clients that did not authenticate.",
    ),
    Advisory(
        "pyarrow",
        "CVE-2023-47248",
        (">=0.14.0,<14.0.1",),
        "critical",
        "Reading a file of Arrow or Parquet can run code.",
    ),
    Advisory("python-jose", "CVE-2024-33663", ("<3.4.0",), "critical", "A public key is taken for a secret of HMAC."),
    Advisory(
        "python-multipart",
        "CVE-2024-24762",
        ("<0.0.7",),
        "high",
        "Regular expression denial of service by a Content-Type.",
    ),
    Advisory(
        "python-multipart", "CVE-2024-53981", ("<0.0.18",), "high", "Bytes around the boundary cost a log line each."
    ),
    Advisory("torch", "CVE-2025-32434", ("<2.6.0",), "critical", "load runs code even with weights_only."),
    Advisory("tornado", "CVE-2024-52804", ("<6.4.2",), "high", "Parsing cookies takes quadratic time."),
    Advisory("tornado", "CVE-2025-47287", ("<6.5",), "high", "Multipart bodies that are malformed fill the log."),
)


def advisories_for(package: str, version: str, table: tuple[Advisory, ...] = TABLE) -> tuple[Advisory, ...]:
    """Return the advisories that affect the package at that version, sorted by id; none for what is no version.

    Args:
        package: in whatever spelling.
        version: one version.
        table: of the registry that the package is of; by default Python's.
    """
    try:
        parsed = Version(version)
    except InvalidVersion:
        return ()
    entries = _by_package(table).get(canonicalize_name(package), [])
    return tuple(
        advisory
        for advisory, ranges in entries
        if any(affected.contains(parsed, prereleases=True) for affected in ranges)
    )


@cache
def _by_package(entries: tuple[Advisory, ...]) -> dict[str, list[tuple[Advisory, list[SpecifierSet]]]]:
    table: defaultdict[str, list[tuple[Advisory, list[SpecifierSet]]]] = defaultdict(list)
    for advisory in sorted(entries):
        table[advisory.package].append((advisory, [SpecifierSet(affected) for affected in advisory.affected]))
    return dict(table)
