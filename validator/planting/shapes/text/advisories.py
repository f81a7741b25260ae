"""Versions of well-known packages with well-known advisories, and versions of others that nothing is known about."""

from typing import Final, NamedTuple

from validator.protocol.sssa import Severity


class Advisory(NamedTuple):
    """A version with an advisory, as its ecosystem's databases say it; many of these versions have others besides."""

    package: str
    version: str
    cve: str
    severity: Severity


PYTHON: Final = (
    Advisory("jinja2", "2.10", "CVE-2019-10906", "high"),
    Advisory("pyyaml", "5.3.1", "CVE-2020-14343", "critical"),
    Advisory("requests", "2.19.1", "CVE-2018-18074", "high"),
    Advisory("urllib3", "1.24.1", "CVE-2019-11324", "high"),
    Advisory("django", "3.2.12", "CVE-2022-28346", "critical"),
    Advisory("aiohttp", "3.9.1", "CVE-2024-23334", "high"),
    Advisory("flask", "2.2.4", "CVE-2023-30861", "high"),
    Advisory("werkzeug", "2.2.2", "CVE-2023-25577", "high"),
    Advisory("paramiko", "2.4.0", "CVE-2018-7750", "critical"),
    Advisory("lxml", "4.6.2", "CVE-2021-28957", "medium"),
    Advisory("certifi", "2022.12.7", "CVE-2023-37920", "high"),
    Advisory("setuptools", "65.5.0", "CVE-2022-40897", "medium"),
    Advisory("gunicorn", "21.2.0", "CVE-2024-1135", "high"),
    Advisory("mako", "1.2.1", "CVE-2022-40023", "high"),
    Advisory("sqlparse", "0.4.3", "CVE-2023-30608", "medium"),
    Advisory("python-multipart", "0.0.6", "CVE-2024-24762", "high"),
    Advisory("gitpython", "3.1.29", "CVE-2022-24439", "critical"),
    Advisory("mcp", "1.9.3", "CVE-2025-53366", "high"),
)
NPM: Final = (
    Advisory("lodash", "4.17.15", "CVE-2020-8203", "high"),
    Advisory("minimist", "1.2.5", "CVE-2021-44906", "critical"),
    Advisory("axios", "0.21.0", "CVE-2020-28168", "medium"),
    Advisory("node-fetch", "2.6.6", "CVE-2022-0235", "high"),
    Advisory("ws", "7.4.5", "CVE-2021-32640", "medium"),
    Advisory("json5", "2.2.1", "CVE-2022-46175", "high"),
    Advisory("semver", "7.5.1", "CVE-2022-25883", "high"),
    Advisory("tar", "6.1.1", "CVE-2021-32803", "high"),
    Advisory("moment", "2.29.1", "CVE-2022-24785", "high"),
    Advisory("handlebars", "4.7.6", "CVE-2021-23369", "critical"),
    Advisory("cross-spawn", "7.0.3", "CVE-2024-21538", "high"),
    Advisory("follow-redirects", "1.14.6", "CVE-2022-0155", "medium"),
    Advisory("path-to-regexp", "0.1.7", "CVE-2024-45296", "high"),
)
SOUND_PYTHON: Final = (
    *("attrs==25.3.0", "colorama==0.4.6", "iniconfig==2.1.0", "packaging==25.0", "pluggy==1.6.0", "six==1.17.0"),
    *("typing-extensions==4.14.1", "python-dateutil==2.9.0.post0", "sortedcontainers==2.4.0", "tomli==2.2.1"),
    *("more-itertools==10.7.0", "wcwidth==0.2.13", "platformdirs==4.3.8", "mdurl==0.1.2"),
)
SOUND_NPM: Final = (
    *(("ms", "2.1.3"), ("wrappy", "1.0.2"), ("once", "1.4.0"), ("inherits", "2.0.4"), ("isarray", "2.0.5")),
    *(("picocolors", "1.1.1"), ("escalade", "3.2.0"), ("yallist", "5.0.0"), ("object-assign", "4.1.1")),
)
