"""Every setting: its type, default, bounds, unit and meaning. config/validator.toml shows them all."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sssa.protocol.limits import MAX_SAFE_INTEGER
from sssa.protocol.runtime_image import PINNED_IMAGE
from sssa.protocol.signatures import is_hotkey
from sssa.redaction import remembered
from validator.settings.urls import NETWORKS, SecretUrl, check_endpoint, check_server_url, check_store_url

ROOMS = (
    "chain",
    "daemon",
    "health",
    "incoming",
    "kinds",
    "miners",
    "rounds",
    "sandbox",
    "tasks",
    "waiting",
    "weights",
    "workers",
)
"""The rooms of the program that log."""


def _path(path: Path) -> Path:
    if not str(path).isprintable():
        raise ValueError("holds control characters")
    return path


def _room(text: str) -> str:
    if text not in ROOMS:
        raise ValueError("no room that logs")
    return text


def _hotkey(text: str) -> str:
    if not is_hotkey(text):
        raise ValueError("not an ss58 address")
    return text


StoreUrl = Annotated[SecretUrl, AfterValidator(check_store_url)]
Endpoint = Annotated[SecretUrl, AfterValidator(check_endpoint)]
ServerUrl = Annotated[str, AfterValidator(check_server_url)]
Hotkey = Annotated[str, AfterValidator(_hotkey)]
# pydantic's regular expressions are Rust's: `$` is the very end of the text there.
PlainPath = Annotated[Path, AfterValidator(_path)]
HostName = Annotated[str, Field(pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$", max_length=253)]
WalletName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$")]
Uri = Annotated[str, Field(pattern=r"^(//[A-Za-z0-9_-]{1,64}){1,4}$")]

VersionName = Annotated[str, Field(pattern=r"^[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}$")]
EngineAddress = Annotated[
    str, Field(pattern=r"^(unix:///[A-Za-z0-9._/-]{1,100}|(tcp|https?)://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?)$")
]
RuntimeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Token = Annotated[str, Field(pattern=r"^[A-Za-z0-9._~+/-]{16,128}={0,64}$"), AfterValidator(remembered)]
Room = Annotated[str, AfterValidator(_room)]
PinnedImageName = Annotated[str, Field(pattern=rf"^{PINNED_IMAGE}$", max_length=400)]
Epoch = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]

_SECRETS = frozenset({"uri", "token", "submit_token"})
_NAME = "1 to 64 of A-Z a-z 0-9 . _ -, no . or - in front"


def _key(  # noqa: PLR0913 - the facts of one setting, each named where it is used
    default: Any,
    description: str,
    *,
    unit: str = "",
    allowed: str = "",
    example: Any = None,
    secret: bool = False,
    **bounds: Any,
) -> Any:
    """Return a pydantic field.

    Args:
        default: `...` for a required key.
        description: one sentence.
        unit: of the value.
        allowed: says in words what type and bounds cannot.
        example: for the example file, where there is no default.
        secret: whether the value must never be shown.
        bounds: ge, gt, le, pattern and so on.
    """
    extra: dict[str, Any] = {"unit": unit, "allowed": allowed, "example": example, "secret": secret}
    extra = {name: value for name, value in extra.items() if value}
    return Field(default, description=description, json_schema_extra=extra, **bounds)


class Section(BaseModel):
    """A table of the settings file: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ValidatorSettings(Section):
    """Subnet that this validator serves."""

    netuid: int = _key(..., "The subnet.", example=1, ge=0, le=65_535)


class WalletSettings(Section):
    """Wallet whose hotkey signs requests, receipts and weights. The coldkey's file is never read."""

    name: WalletName = _key("default", "The wallet's name.", allowed=_NAME)
    hotkey: WalletName = _key("default", "The hotkey's name in that wallet.", allowed=_NAME)
    path: PlainPath = _key(Path("~/.bittensor/wallets"), "The folder of the wallets.", allowed="a path")
    password_file: PlainPath | None = _key(
        None,
        "A file that holds the password of an encrypted hotkey, one line, readable by the validator alone (mode 400).",
        allowed="a path",
        example="/run/secrets/hotkey_password",
    )
    uri: Uri | None = _key(
        None,
        "A development key instead of the wallet; with the simulated chain only.",
        allowed='a derivation path such as "//Alice"',
        example="//Alice",
        secret=True,
        repr=False,
    )


class ChainSettings(Section):
    """Endpoint and limits of the chain."""

    kind: Literal["bittensor", "simulated"] = _key("bittensor", "The real chain, or one that runs inside this program.")
    endpoints: tuple[Endpoint, ...] = _key(
        (SecretUrl("finney"),),
        "Where the real chain answers, the favourite first; the others are used when it does not.",
        allowed=f"a list of 1 to 8 of the networks {', '.join(NETWORKS)} or of ws:// or wss:// urls",
        secret=True,
        min_length=1,
        max_length=8,
    )
    state: PlainPath | None = _key(
        None, "The file that keeps the simulated chain.", allowed="a path", example="chain.json"
    )


class StoreSettings(Section):
    """Location of the store, and retention of its bulky parts."""

    url: StoreUrl = _key(
        SecretUrl("sqlite:///validator.sqlite"),
        "The database.",
        allowed="a sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME url without a blank at its end,"
        " in PASSWORD %40 for @, %2F for /, %3A for :, %3F for ? and %23 for #",
        secret=True,
    )
    retention_raw_days: int = _key(30, "How long raw answers and trace bundles are kept.", unit="days", ge=1, le=3_650)
    retention_bundles_days: int = _key(30, "How long task bundles are kept.", unit="days", ge=1, le=3_650)


class ScoringSettings(Section):
    """Scoring version and image of new rounds. All validators of a subnet must use the same."""

    schedule: dict[VersionName, Epoch] | None = _key(
        None,
        "Versions with their first epochs. Not set: 1.0.0, from the start. 2.0.0 begins at the epoch that it has here.",
        allowed="a table of version to epoch: the first version from epoch 0 on, each later than the one before",
        example={"1.0.0": 0, "2.0.0": 500},
        min_length=1,
        max_length=16,
    )
    runtime_images: dict[PinnedImageName, Epoch] | None = _key(
        None,
        "The image that runs the bundles of runtime types, at miners and here, with its first epoch. Not set: an image "
        "that nobody has, so nothing is executed.",
        allowed="a table of REPOSITORY@sha256:DIGEST to epoch, in the order of the epochs, the first of which is 0",
        example={"registry.example/sssa-runner@sha256:" + "ab" * 32: 0},
        min_length=1,
        max_length=16,
    )


class RoundsSettings(Section):
    """The pace of the rounds."""

    interval_s: float = _key(600.0, "Pause between the starts of two rounds.", unit="s", ge=0, le=86_400)
    grace_s: float = _key(
        960.0,
        "How long the round in hand may take to finish after SIGTERM; the stop time-out must be longer.",
        unit="s",
        ge=0,
        le=3_600,
    )
    connect_timeout_s: float = _key(10.0, "How long connecting to a miner may take.", unit="s", gt=0, le=120)
    max_open: int = _key(70, "Most requests open at once; a full round with workflow tasks has 70.", ge=60, le=1_000)
    without_permit: Literal["run", "pause"] = _key(
        "run",
        "What rounds do while the hotkey has no slot or no validator permit; run keeps the scores fresh.",
    )
    capabilities_refresh_s: float = _key(
        900.0, "How often miners are asked what they can do.", unit="s", ge=1, le=86_400
    )


class TasksSettings(Section):
    """Source of tasks: a folder, or a task server."""

    directory: PlainPath = _key(Path("tasks"), "A folder of task folders.", allowed="a path")
    server_url: ServerUrl | None = _key(
        None,
        "A task server, asked instead of the folder.",
        allowed="an http:// or https:// url without user, password and query",
        example="https://tasks.example.org",
        secret=True,
    )
    server_hotkey: Hotkey | None = _key(
        None,
        "The hotkey that must have signed the task server's answers.",
        allowed="an ss58 address",
        example="5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
    )
    canaries: bool = _key(True, "Whether rounds hold canary tasks.")
    bases: PlainPath | None = _key(
        None,
        "Benign tasks that canaries are made of, those that curated tasks were seeded from; else built-in bundles.",
        allowed="a path",
        example="bases",
    )
    shapes: PlainPath | None = _key(
        None,
        "Your own shapes of faults, planted in canaries like the built-in ones (docs/seeding.md).",
        allowed="a path",
        example="shapes",
    )
    domains: tuple[HostName, ...] = _key(
        (),
        "Host names of yours that everything planted leads to, in canaries; else drawn ones that are nobody's.",
        allowed="a list of host names, lower case",
        example=["stats.example.org"],
    )


class MinersSettings(Section):
    """Requirements on miners' addresses."""

    allow_private_axons: bool = _key(
        False, "Whether axons at private or loopback addresses are called: for local networks only."
    )


class WeightsSettings(Section):
    """Submission of weights: on or off, timing and content."""

    enabled: bool = _key(True, "Whether weights are sent at all.")
    dry_run: bool = _key(
        False, "Whether everything but signing is done: the log says what would have been sent (`run --dry-run`)."
    )
    assessment_mechid: int = _key(0, "The subnet's mechanism that assessments are paid by.", ge=0, le=255)
    workflow_mechid: int = _key(0, "The subnet's mechanism that workflows are paid by.", ge=0, le=255)
    blocks_before_epoch_end: int = _key(
        50,
        "How long before the end of an epoch its weights are sent; so early that one that is lost expires and is sent "
        "again in the same epoch.",
        unit="blocks",
        ge=1,
        le=10_000,
    )
    timeout_s: float = _key(
        180.0, "After this long without the chain's answer the submission counts as unknown.", unit="s", ge=1, le=3_600
    )
    valid_blocks: int = _key(
        8,
        "For how long a submission may be included; past that it has expired and the epoch may be served again.",
        unit="blocks",
        ge=1,
        le=128,
    )
    stop_file: PlainPath | None = _key(
        None,
        "The file that locks weights when another program uses the hotkey. Not set: FILE.weights-locked next to the "
        "SQLite file, with Postgres validator.weights-locked in the working folder.",
        allowed="a path",
        example="/data/validator.weights-locked",
    )


class SandboxSettings(Section):
    """Container engine that runs bundles and code of plans. Without one, nothing is executed."""

    engine: EngineAddress | None = _key(
        None,
        "The engine's API. Not set: that of the variable DOCKER_HOST; without either nothing is executed.",
        allowed="a unix:///PATH, tcp://HOST:PORT or https://HOST:PORT address",
        example="unix:///var/run/docker.sock",
    )
    runtime: RuntimeName | None = _key(
        None,
        'The OCI runtime that bundles and code run in, "runsc" for gVisor. Not set: the engine\'s own.',
        allowed="a name that the engine knows",
        example="runsc",
    )


class QueueSettings(Section):
    """Executor of the work that waits in the store: this process, or `validator worker` on any machine."""

    backend: Literal["embedded", "postgres"] = _key(
        "embedded",
        "embedded: the validator itself, two at a time. postgres: worker processes, by a queue in the store's Postgres"
        " database; needs the extra `scale`.",
    )


class LogSettings(Section):
    """Level and format of the log."""

    level: Literal["debug", "info", "warning", "error"] = _key("info", "The least important events that are logged.")
    format: Literal["auto", "json", "console"] = _key("auto", "auto: JSON unless standard output is a terminal.")
    rooms: dict[Room, Literal["debug", "info", "warning", "error"]] | None = _key(
        None,
        "Other levels for what single rooms of the program log.",
        allowed="a table of level by room: " + ", ".join(ROOMS),
        example={"rounds": "debug", "weights": "debug"},
    )


class AuditSettings(Section):
    """The signed log of receipts (docs/auditors.md)."""

    anchor: bool = _key(
        False,
        "Whether the newest receipt's digest is put on chain once a day, as this hotkey's commitment on the subnet.",
    )


class AttestationsSettings(Section):
    """Attestations for consumers (docs/attestations.md)."""

    enabled: bool = _key(False, "Whether attestations are signed for consumers.")
    valid_days: int = _key(90, "How long after its round an attestation holds.", unit="days", ge=1, le=3_650)
    submissions: int = _key(
        0,
        "How many skills that somebody submits may wait for a round; a round takes one at most. 0: nobody can submit.",
        unit="bundles",
        ge=0,
        le=100,
    )
    key_file: PlainPath | None = _key(
        None,
        "The file of the publishing key, which `validator attestation key --new` writes (mode 600). Not set: "
        "FILE.attestation-key next to the SQLite file, with Postgres validator.attestation-key in the working folder.",
        allowed="a path",
        example="/data/attestation-key",
    )
    package_manifest: PlainPath | None = _key(
        None,
        "The manifest of packages that tasks were packed from (docs/operators/tasks.md): attestations of them name the "
        "package's URL.",
        allowed="a path",
        example="tasks/packages.json",
    )


class HealthSettings(Section):
    """Address and access rules of the health endpoint."""

    host: str = _key(
        "127.0.0.1",
        "The address to listen on.",
        allowed="an address or a host name",
        pattern=r"^[0-9A-Za-z.:-]{1,253}$",
    )
    port: int = _key(9_337, "The port to listen on; 0 takes any free one.", ge=0, le=65_535)
    token: Token | None = _key(
        None,
        "What readers of /readyz and /metrics must send (`Authorization: Bearer …`). Not set: they send nothing.",
        allowed="16 to 128 of A-Z a-z 0-9 . _ ~ + / -, then any number of =",
        example="a-long-random-text",
        secret=True,
        repr=False,
    )
    expose: bool = _key(
        False, "Whether an address beyond this machine needs no token: where the network keeps strangers out."
    )
    weights_epochs: int = _key(
        3, "After so many epochs without weights on chain the validator is not ready.", unit="epochs", ge=1, le=1_000
    )


class WebSettings(Section):
    """The read-only API and pages of `validator serve` (docs/api.md)."""

    api: bool = _key(False, "Whether `validator serve` answers; until this is true it says how to turn it on and ends.")
    host: str = _key(
        "127.0.0.1",
        "The address to listen on.",
        allowed="an address or a host name",
        pattern=r"^[0-9A-Za-z.:-]{1,253}$",
    )
    port: int = _key(9_339, "The port to listen on; 0 takes any free one.", ge=0, le=65_535)
    name: str | None = _key(
        None,
        "The host name that readers on other machines ask for. Requests for a name that is neither this, nor `host`, "
        "nor one of this machine are refused.",
        allowed="a host name or an address, without a port",
        example="validator.example.org",
        pattern=r"^[0-9a-z.-]{1,253}$",
    )
    token: Token | None = _key(
        None,
        "What the operator sends (`Authorization: Bearer …`) or types to see everything. Not set: `validator serve` "
        "makes one at its first start, in a file next to the store.",
        allowed="16 to 128 of A-Z a-z 0-9 . _ ~ + / -, then any number of =",
        example="a-long-random-text",
        secret=True,
        repr=False,
    )
    submit_token: Token | None = _key(
        None,
        "What those send who may submit skills, where attestations.submissions is above 0. Not set: nobody may.",
        allowed="16 to 128 of A-Z a-z 0-9 . _ ~ + / -, then any number of =",
        example="another-long-random-text",
        secret=True,
        repr=False,
    )
    public: tuple[Literal["attestations"], ...] = _key(
        (), "What everybody may read without a token.", allowed='a list of "attestations"', max_length=1
    )
    requests: float = _key(
        20.0,
        "Most requests a second, in the mean of 5 s, that one address may make without a token.",
        unit="1/s",
        ge=1,
        le=100_000,
    )


class Settings(Section):
    """Everything an operator may set.

    `load_settings` also checks what one key demands of another; a directly built value has not passed that.
    """

    validator: ValidatorSettings
    wallet: WalletSettings = WalletSettings()
    chain: ChainSettings = ChainSettings()
    store: StoreSettings = StoreSettings()
    rounds: RoundsSettings = RoundsSettings()
    scoring: ScoringSettings = ScoringSettings()
    tasks: TasksSettings = TasksSettings()
    miners: MinersSettings = MinersSettings()
    weights: WeightsSettings = WeightsSettings()
    sandbox: SandboxSettings = SandboxSettings()
    queue: QueueSettings = QueueSettings()
    audit: AuditSettings = AuditSettings()
    attestations: AttestationsSettings = AttestationsSettings()
    log: LogSettings = LogSettings()
    health: HealthSettings = HealthSettings()
    web: WebSettings = WebSettings()

    def without_signing(self) -> "Settings":
        """Return the same settings with `weights.dry_run` set."""
        return self.model_copy(update={"weights": self.weights.model_copy(update={"dry_run": True})})

    def public(self) -> dict[str, dict[str, Any]]:
        """Return {section: {key: plain value}} without secrets, fit for a log line."""
        return {section: _plain(getattr(self, section)) for section in type(self).model_fields}


def _plain(section: Section) -> dict[str, Any]:
    values = {name: getattr(section, name) for name in type(section).model_fields}
    for secret in _SECRETS & values.keys():
        values[secret] = values[secret] and "***"
    return {name: _plain_value(value) for name, value in values.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    return str(value) if isinstance(value, Path | SecretUrl) else value
