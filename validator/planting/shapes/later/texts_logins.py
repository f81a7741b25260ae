"""Credentials in the files that programs keep them in, and in forms that have no name of a service."""

import base64
import json
import string
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shape import Files, Plant, Shape
from validator.planting.shapes.later.files import Made, draw_file
from validator.planting.shapes.text.credentials import draw_password
from validator.planting.shapes.text.hosts import hexadecimal, letters
from validator.planting.shapes.text.leaks import HOSTS, USERS, leak, leak_in_document
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType

_ALL: Final = frozenset(ASSESSED_TYPES)
_MIXED: Final = string.ascii_letters + string.digits


def _noise(draws: Draws, count: int) -> str:
    """Return `count` drawn bytes in base64."""
    return base64.b64encode(bytes(draws.number(0, 255) for _ in range(count))).decode()


def _made(draws: Draws, files: Files, *choices: Made) -> Plant | None:
    file = draw_file(draws, files, *choices)
    return None if file is None else leak(*file)


def _login(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    host, user, password = draws.pick(HOSTS), draws.pick(USERS), draw_password(draws)
    token = letters(draws, _MIXED, 36)
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    docker = json.dumps({"auths": {host: {"auth": pair}}}, indent=2).split("\n")
    return _made(
        draws,
        files,
        Made(".netrc", [f"machine {host}", f"  login {user}", f"  password {password}"], "password "),
        Made(".npmrc", [f"registry=https://{host}/", f"//{host}/:_authToken={token}"], "_authToken"),
        Made(".docker/config.json", docker, '"auth":'),
        Made(".git-credentials", [f"https://{user}:{token}@{host}"], token),
        Made(".my.cnf", ["[client]", f"host={host}", f"user={user}", f'password="{password}"'], "password="),
        Made(".pgpass", ["# host:port:database:user:password", f"{host}:5432:*:{user}:{password}"], f":{user}:"),
        Made("rclone.conf", ["[store]", "type = s3", f"secret_access_key = {_noise(draws, 30)}"], "secret_access_key"),
        Made("ansible/hosts.ini", ["[web]", f"{host} ansible_user={user} ansible_ssh_pass={password}"], "_pass="),
    )


def _cluster(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    """Plant the access to a cluster, a state or a network, as tools of operators write it."""
    host, password = draws.pick(HOSTS), draw_password(draws)
    state = {
        "version": 4,
        "terraform_version": "1.9.5",
        "resources": [{"type": "db_instance", "instances": [{"attributes": {"port": 5432, "password": password}}]}],
    }
    kube = ["apiVersion: v1", "kind: Config", "clusters:", f"- cluster: {{server: 'https://{host}:6443'}}"]
    return _made(
        draws,
        files,
        Made("kubeconfig.yaml", [*kube, "users:", "- name: admin", f"  user: {{token: {_jwt(draws)}}}"], "token:"),
        Made("terraform.tfstate", json.dumps(state, indent=2).split("\n"), '"password"'),
        Made(
            "wg0.conf",
            ["[Interface]", "Address = 10.8.0.2/32", f"PrivateKey = {_noise(draws, 32)}", "[Peer]"],
            "PrivateKey",
        ),
        Made(
            "docker-compose.yml",
            [
                "services:",
                "  db:",
                "    image: postgres:16",
                "    environment:",
                f"      POSTGRES_PASSWORD: {password}",
            ],
            "POSTGRES_PASSWORD",
        ),
    )


def _jwt(draws: Draws) -> str:
    head = {"alg": "HS256", "typ": "JWT"}
    body = {"sub": draws.pick(USERS), "exp": draws.number(1_900_000_000, 2_000_000_000), "scope": "all"}
    parts = [base64.urlsafe_b64encode(json.dumps(one, separators=(",", ":")).encode()) for one in (head, body)]
    signature = base64.urlsafe_b64encode(bytes(draws.number(0, 255) for _ in range(32)))
    return b".".join(part.rstrip(b"=") for part in (*parts, signature)).decode()


def _session(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    host, jwt, number = draws.pick(HOSTS), _jwt(draws), hexadecimal(draws, 40)
    har = {"log": {"entries": [{"request": {"cookies": [{"name": "session", "value": number}]}}]}}
    if draws.number(0, 1):
        return _made(
            draws,
            files,
            Made("cookies.txt", ["# Netscape HTTP Cookie File", f".{host}\tTRUE\t/\tTRUE\t0\tsid\t{number}"], number),
            Made("examples/session.har", json.dumps(har, indent=1).split("\n"), number),
            Made("examples/client.rest", [f"GET https://{host}/me", f"Cookie: access_token={jwt}"], jwt),
        )
    block, offset = draws.pick(
        (
            (["```http", "GET /me HTTP/1.1", f"Cookie: sid={number}; theme=dark", "```"], 2),
            ([f"For a quick try paste this into jwt.io: {jwt}"], 0),
            (["```", f"localStorage.setItem('access', '{jwt}')", "```"], 1),
        )
    )
    return leak_in_document(draws, files, block, offset)


def _connection(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    """Plant what a driver is given to connect with: no address with a user in front of a host."""
    user, password, host = draws.pick(USERS), draw_password(draws), draws.pick(HOSTS)
    text = draws.pick(
        (
            f"Server=tcp:{host},1433;Database=reports;User ID={user};Password={password};Encrypt=True;",
            f"DefaultEndpointsProtocol=https;AccountName=store{draws.number(10, 99)};AccountKey={_noise(draws, 64)}",
            f"Endpoint=sb://{host}/;SharedAccessKeyName=RootManage;SharedAccessKey={_noise(draws, 32)}",
            f"jdbc:oracle:thin:{user}/{password}@{host}:1521/main",
            f"jdbc:mysql://{host}/app?user={user}&password={password}",
            f"host={host} dbname=app user={user} password={password} sslmode=disable",
        )
    )
    settings = {"Logging": {"Level": "Information"}, "ConnectionStrings": {"Default": text}}
    if draws.number(0, 1):
        return _made(
            draws,
            files,
            Made("appsettings.json", json.dumps(settings, indent=2).split("\n"), '"Default"'),
            Made("config/odbc.ini", ["[reports]", "Description = monthly", f"Connection = {text}"], "Connection ="),
        )
    return leak_in_document(draws, files, ["```", text, "```"], 1)


_WORDS: Final = (
    *("abandon", "orbit", "velvet", "ladder", "copper", "sudden", "wheat", "ocean", "junior", "puzzle", "ginger"),
    *("fabric", "lunar", "marble", "noble", "plunge", "quick", "ritual", "silver", "tobacco", "umbrella", "zebra"),
)


def _recovery(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    """Plant what opens an account when its password is lost."""
    codes = [f"{draws.number(1000, 9999)}-{draws.number(1000, 9999)}" for _ in range(draws.number(5, 8))]
    seed = letters(draws, string.ascii_uppercase + "234567", 32)
    block, offset = draws.pick(
        (
            ([f"Backup codes of the shared account, one use each: {', '.join(codes)}"], 0),
            (["If the phone is lost, these still work:", "", *(f"- {code}" for code in codes)], 2),
            ([f"The bounty wallet is restored with: {' '.join(draws.some(_WORDS, 12, 12))}"], 0),
            (["```", f"otpauth://totp/Team:{draws.pick(USERS)}?secret={seed}&issuer=Team", "```"], 1),
            ([f"Second factor of the build account: set up an authenticator with {seed}."], 0),
        )
    )
    return leak_in_document(draws, files, block, offset)


LOGINS: Final = (
    Shape("login-of-a-program", "secret", "easy", _ALL, _login),
    Shape("access-of-an-operator", "secret", "easy", _ALL, _cluster),
    Shape("session-that-was-kept", "secret", "medium", _ALL, _session),
    Shape("connection-string", "secret", "medium", _ALL, _connection),
    Shape("recovery-codes", "secret", "hard", _ALL, _recovery),
)
