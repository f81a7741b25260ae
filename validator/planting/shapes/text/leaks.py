"""Credentials that an author left in documents, manifests and examples."""

import base64
import json
from pathlib import PurePosixPath
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shape import Files, Plant, Shape
from validator.planting.shapes.text.credentials import draw_credential, draw_password, draw_private_key
from validator.planting.shapes.text.documents import Document, all_documents, paragraph
from validator.planting.shapes.text.jsonfile import Member, json_of, with_member
from validator.planting.shapes.text.lines import lines_of, put, text_of
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType

_ALL: Final = frozenset(ASSESSED_TYPES)
HOSTS: Final = ("db.example.net", "git.example.org", "packages.example.com", "mail.example.net", "10.20.0.15")
USERS: Final = ("deploy", "admin", "service", "backup", "reader")


def leak(path: str, content: bytes, line: int) -> Plant:
    """Return the fault of a file with a secret."""
    return Plant({path: content}, path, line, "secrets_exposure", "high", target_pattern=path)


def leak_in_document(draws: Draws, files: Files, block: list[str], offset: int = 0) -> Plant | None:
    """Return a drawn document with the block as a paragraph, whose line `offset`, from 0 on, has the secret."""
    found = all_documents(files)
    if not found:
        return None
    document: Document = draws.pick(found)
    placed = paragraph(draws, document, block)
    return leak(document.path, placed.content, placed.line + offset)


def _document(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    secret = draw_credential(draws)
    block, offset = draws.pick(
        (
            ([f"Until everybody has an account, use our {secret.service} key: `{secret.value}`."], 0),
            (["```bash", f"export {secret.variable}={secret.value}", "```"], 1),
            ([f"Test access ({secret.service}): {secret.value}"], 0),
            (["```json", "{", f'  "{secret.variable}": "{secret.value}"', "}", "```"], 2),
            ([f"- {secret.variable} = {secret.value} (valid until {draws.date()})"], 0),
        )
    )
    return leak_in_document(draws, files, block, offset)


_MANIFESTS: Final = ("manifest.json", "mcp.json", "composition.json")


def _manifest(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    found = [path for path in sorted(files) if PurePosixPath(path).name in _MANIFESTS]
    if not found:
        return None
    path, secret = draws.pick(found), draw_credential(draws)
    file = json_of(files[path])
    key, value = draws.pick(
        (
            ("env", {secret.variable: secret.value}),
            ("environment", {secret.variable: {"default": secret.value, "required": False}}),
            ("config", [{"name": secret.variable.lower(), "type": "string", "default": secret.value}]),
            ("auth", {"type": "bearer", "token": secret.value}),
        )
    )
    changed = with_member(draws, file, (), Member(key, value, secret.value))
    return None if changed is None else leak(path, *changed)


def _example(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    secret, host, password = draw_credential(draws), draws.pick(HOSTS), draw_password(draws)
    name = secret.variable.lower()
    lines = ["LOG_LEVEL=info", f"{secret.variable}={secret.value}", f"TIMEOUT={draws.number(5, 90)}"]
    choices = (
        (".env", lines, 2),
        (".env.example", ["# copy to .env", *lines], 3),
        ("examples/request.http", [f"GET https://{host}/v1/items", f"Authorization: Bearer {secret.value}"], 2),
        ("config/settings.yaml", ["language: en", "auth:", f"  {name}: {secret.value}"], 3),
        ("config/settings.ini", ["[service]", f"host = {host}", f"{name} = {secret.value}"], 3),
        (".pypirc", ["[team]", f"repository = https://{host}/", "username = build", f"password = {password}"], 4),
    )
    free = [choice for choice in choices if choice[0] not in files]
    if not free:
        return None
    path, content, line = draws.pick(free)
    return leak(path, ("\n".join(content) + "\n").encode(), line)


def _url(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    user, password, host = draws.pick(USERS), draw_password(draws).rstrip("!"), draws.pick(HOSTS)
    if "requirements.txt" in files and draws.number(0, 1):
        text = text_of(files["requirements.txt"])
        if text is not None and not any(line.endswith("\\") for line in lines_of(text)):
            line = f"--extra-index-url https://{user}:{password}@{host}/simple"
            return leak("requirements.txt", *put(text, 0, [line]))
    block, offset = draws.pick(
        (
            (["```bash", f"git clone https://{user}:{password}@{host}/team/files.git", "```"], 1),
            ([f"The figures come from postgres://{user}:{password}@{host}:5432/reports."], 0),
            (["```", f"mongodb+srv://{user}:{password}@{host}/app?retryWrites=true", "```"], 1),
            ([f"Pictures lie at [the old server](ftp://{user}:{password}@{host}/pictures)."], 0),
            ([f"    redis://:{password}@{host}:6379/0"], 0),
        )
    )
    return leak_in_document(draws, files, block, offset)


def _encoded(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    user, secret = draws.pick(USERS), draw_credential(draws)
    pair = base64.b64encode(f"{user}:{draw_password(draws)}".encode()).decode()
    whole = base64.b64encode(secret.value.encode()).decode()
    path = draws.pick(
        [name for name in ("deploy/secret.yaml", "k8s/secret.yaml", "deploy/values.yaml") if name not in files] or [""]
    )
    if path and draws.number(0, 1):
        head = ["apiVersion: v1", "kind: Secret", "metadata:", "  name: access", "type: Opaque", "data:"]
        content = "\n".join((*head, f"  {secret.variable.lower().replace('_', '-')}: {whole}")) + "\n"
        return leak(path, content.encode(), len(head) + 1)
    address = f"https://{draws.pick(HOSTS)}/v1/items"
    call = f'curl -H "Authorization: Basic {pair}" {address}'
    return leak_in_document(draws, files, ["```bash", call, "```"], 1)


def _key_file(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    names = ("certs/dev.key", "deploy_key", "keys/id_rsa", "config/service.pem", "tests/server.key")
    free = [name for name in names if name not in files]
    if not free:
        return None
    path, key = draws.pick(free), draw_private_key(draws)
    if draws.number(0, 2):
        return leak(path, ("\n".join(key) + "\n").encode(), 1)
    account = {
        "type": "service_account",
        "client_email": f"job@project-{draws.number(100, 999)}.example",
        "private_key": "\n".join(key),
    }
    text = json.dumps(account, indent=2) + "\n"
    return leak(f"{path}.json", text.encode(), 4)


LEAKS: Final = (
    Shape("credential-in-a-document", "secret", "easy", _ALL, _document),
    Shape("private-key-in-a-file", "secret", "easy", _ALL, _key_file),
    Shape("credential-in-a-manifest", "secret", "medium", _ALL, _manifest),
    Shape("credential-in-an-example", "secret", "medium", _ALL, _example),
    Shape("password-in-an-address", "secret", "hard", _ALL, _url),
    Shape("encoded-credential", "secret", "hard", _ALL, _encoded),
)
