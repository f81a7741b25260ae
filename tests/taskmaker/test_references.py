"""Names of packages elsewhere: what is one, what could be an option, another protocol or a way out of a folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validator.tasks.package_reference import Reference, parse_reference
from validator.tasks.source import TaskError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("pypi:mcp-server-fetch", Reference("pypi:", "mcp-server-fetch")),
        (
            "pypi:Zope.Interface==1!2.0rc1+local.1",
            Reference("pypi:", "Zope.Interface", "1!2.0rc1+local.1"),
        ),
        ("npm:left-pad", Reference("npm:", "left-pad")),
        ("npm:@scope/name@1.2.3-beta.1", Reference("npm:", "@scope/name", "1.2.3-beta.1")),
        ("npm:name@latest", Reference("npm:", "name", "latest")),
        ("pypi:skills==1.0#subdirectory=a/b", Reference("pypi:", "skills", "1.0", "a/b")),
        ("npm:@scope/name@1.0.0#subdirectory=docs", Reference("npm:", "@scope/name", "1.0.0", "docs")),
        ("git+https://host.example:8443/a/b.git", Reference("git+", "https://host.example:8443/a/b.git")),
        ("git+ssh://git@host/a/b@v1.0", Reference("git+", "ssh://git@host/a/b", "v1.0")),
        (
            f"git+file:///srv/some%20repo@{COMMIT}#subdirectory=skills/my skill",
            Reference("git+", "file:///srv/some%20repo", COMMIT, "skills/my skill"),
        ),
        ("git+https://h/.git@a/b", Reference("git+", "https://h/.git", "a/b")),
    ],
)
def test_names_of_packages_elsewhere(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize("text", ["./skill", "structlog", "a/b.whl", "", "-", "PYPI:x", "git-thing"])
def test_a_path_and_a_distribution_are_none(text: str) -> None:
    assert parse_reference(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "pypi:",
        "pypi:--index-url=x",
        "pypi:a b",
        "pypi:a>=1",
        "pypi:a[extra]",
        "pypi:a @ file:///x",
        "pypi:a==1 --pre",
        "pypi:../x.whl",
        "npm:",
        "npm:--x",
        "npm:.hidden",
        "npm:user/repository",
        "npm:a@file:..",
        "npm:a@>1",
        "npm:@/x",
        "npm:a@-x",
        "git+http://h/a",
        "git+ext::sh -c id",
        "git+https://user:secret@h/a",
        "git+https://user@h/a",
        "git+ssh://-oProxyCommand=id/a",
        "git+ssh://-x@h/a",
        "git+file://../a",
        "git+https://h/a@--upload-pack=id",
        "git+https://h/a@+x",
        "git+https://h/a@a..b",
        "git+https://h/a@a:b",
        "git+https://h/a#egg=x",
        "git+https://h/a#subdirectory=../x",
        "git+https://h/a#subdirectory=a//b",
        "git+https://h/a#subdirectory=/",
        "pypi:a#subdirectory=../x",
        "pypi:a#subdirectory=",
        "npm:a#subdirectory=x/./y",
        "git+https://h/a\n",
        "git+https://h/a?x",
    ],
)
def test_what_is_of_no_form_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(TaskError, match=r"is not of the form (pypi|npm|git)") as caught:
        parse_reference(text)
    assert str(caught.value).isprintable()


@given(
    st.sampled_from(["pypi:", "npm:", "git+https://", "git+file:///", "git+ssh://h/"]),
    st.text("ab-@/.:=#_%~+ ", max_size=25),
)
def test_no_name_is_an_option_or_leads_out_of_a_folder(prefix: str, rest: str) -> None:
    try:
        reference = parse_reference(prefix + rest)
    except TaskError:
        return
    assert reference is not None
    assert not any(str(part).startswith("-") for part in reference if part)
    assert ".." not in (reference.subdirectory or "").split("/")
