"""Known advisories on widely used npm packages: real ids, real affected ranges (GitHub advisory database). A sample."""

from typing import Final

from miner.advisories import Advisory

TABLE: Final[tuple[Advisory, ...]] = (
    Advisory("axios", "CVE-2020-28168", ("<0.21.1",), "medium", "A redirect leads past the proxy."),
    Advisory("axios", "CVE-2021-3749", ("<0.21.2",), "high", "Regular expression denial of service in trim."),
    Advisory(
        "axios",
        "CVE-2023-45857",
        (">=0.8.1,<0.28.0", ">=1.0.0,<1.6.0"),
        "medium",
        "The XSRF token is sent to every host.",
    ),
    Advisory("axios", "CVE-2024-39338", (">=1.3.2,<1.7.4",), "high", "Path-relative URLs reach other hosts."),
    Advisory("body-parser", "CVE-2024-45590", ("<1.20.3",), "high", "Crafted URL-encoded bodies deny service."),
    Advisory("braces", "CVE-2024-4068", ("<3.0.3",), "high", "Unbalanced braces use up memory."),
    Advisory(
        "cross-spawn",
        "CVE-2024-21538",
        ("<6.0.6", ">=7.0.0,<7.0.5"),
        "high",
        "Regular expression denial of service in the escaping of arguments.",
    ),
    Advisory("ejs", "CVE-2022-29078", ("<3.1.7",), "critical", "Template options from a request run code."),
    Advisory("express", "CVE-2024-29041", ("<4.19.2",), "medium", "Malformed URLs redirect to other sites."),
    Advisory("follow-redirects", "CVE-2022-0155", ("<1.14.7",), "high", "Cookies follow redirects to other sites."),
    Advisory("follow-redirects", "CVE-2023-26159", ("<1.15.4",), "medium", "Malformed URLs lead to other hosts."),
    Advisory("handlebars", "CVE-2021-23369", ("<4.7.7",), "critical", "Templates run code in strict mode."),
    Advisory(
        "json5", "CVE-2022-46175", ("<1.0.2", ">=2.0.0,<2.2.2"), "high", "Parsing sets the prototype of the result."
    ),
    Advisory("lodash", "CVE-2019-10744", ("<4.17.12",), "critical", "defaultsDeep changes the prototype of objects."),
    Advisory("lodash", "CVE-2021-23337", ("<4.17.21",), "high", "template runs what its options hold."),
    Advisory("mcp-remote", "CVE-2025-6514", (">=0.0.5,<0.1.16",), "critical", "A server's answer runs commands."),
    Advisory(
        "minimist",
        "CVE-2021-44906",
        ("<0.2.4", ">=1.0.0,<1.2.6"),
        "critical",
        "Arguments change the prototype of objects.",
    ),
    Advisory("moment", "CVE-2022-24785", ("<2.29.2",), "high", "A locale's name leads to other files."),
    Advisory("moment", "CVE-2022-31129", (">=2.18.0,<2.29.4",), "high", "Parsing long dates takes quadratic time."),
    Advisory(
        "node-fetch", "CVE-2022-0235", ("<2.6.7", ">=3.0.0,<3.1.1"), "high", "Credentials follow redirects elsewhere."
    ),
    Advisory(
        "semver",
        "CVE-2022-25883",
        ("<5.7.2", ">=6.0.0,<6.3.1", ">=7.0.0,<7.5.2"),
        "high",
        "Regular expression denial of service in ranges.",
    ),
    Advisory("shell-quote", "CVE-2021-42740", (">=1.6.3,<1.7.3",), "critical", "Quoted text can run commands."),
    Advisory("tar", "CVE-2024-28863", ("<6.2.1",), "medium", "Folders within folders use up memory."),
    Advisory("tough-cookie", "CVE-2023-26136", ("<4.1.3",), "medium", "A cookie changes the prototype of objects."),
    Advisory("vm2", "CVE-2023-29017", ("<3.9.15",), "critical", "Code leaves the sandbox by an asynchronous error."),
    Advisory(
        "ws",
        "CVE-2024-37890",
        (">=5.0.0,<5.2.4", ">=6.0.0,<6.2.3", ">=7.0.0,<7.5.10", ">=8.0.0,<8.17.1"),
        "high",
        "A request with many headers ends the server.",
    ),
)
