import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from localnet.images.build import MANIFEST, Blob, Image
from localnet.images.registry import ImageRegistry
from sssa.protocol.runtime_image import RuntimeImage


@pytest.fixture
def image(tmp_path: Path) -> Image:
    (tmp_path / "layer").write_bytes(b"layer" * 1000)
    layers = (Blob.of(tmp_path / "layer", "layer"), Blob.of(b"small", "layer"))
    return Image(Blob.of(b"{}", MANIFEST), Blob.of(b"[]", "config"), layers)


@pytest.fixture
async def registry() -> AsyncIterator[ImageRegistry]:
    async with ImageRegistry() as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_an_image_is_served_by_its_digests(
    registry: ImageRegistry, image: Image, client: aiohttp.ClientSession
) -> None:
    declared = registry.put("sssa/runtime", image)
    assert declared == RuntimeImage(f"{registry.host}/sssa/runtime", image.digest)
    assert (registry.host.split(":")[0], (await client.get(f"http://{registry.host}/v2/")).status) == ("127.0.0.1", 200)
    wanted = [("manifests", image.manifest), *(("blobs", blob) for blob in (image.config, *image.layers))]
    for kind, blob in wanted:
        url = f"http://{registry.host}/v2/sssa/runtime/{kind}/{blob.digest}"
        async with client.get(url) as reply:
            body = await reply.read()
            assert (reply.status, reply.headers["Content-Type"]) == (200, blob.media_type)
            assert reply.headers["Docker-Content-Digest"] == blob.digest == f"sha256:{hashlib.sha256(body).hexdigest()}"
        async with client.head(url) as reply:
            assert (reply.status, reply.headers["Content-Length"]) == (200, str(blob.size))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("sssa/runtime/manifests/sha256:" + "00" * 32, "MANIFEST_UNKNOWN"),
        ("other/manifests/DIGEST", "MANIFEST_UNKNOWN"),
        ("sssa/runtime/blobs/sha256:" + "00" * 32, "BLOB_UNKNOWN"),
        ("other/blobs/CONFIG", "BLOB_UNKNOWN"),
        ("sssa/runtime/manifests/latest", None),
        ("sssa/runtime/tags/list", None),
        ("sssa/runtime/blobs/..%2f..%2fetc%2fpasswd", None),
    ],
)
async def test_what_is_not_there_is_named(
    registry: ImageRegistry, image: Image, client: aiohttp.ClientSession, path: str, code: str | None
) -> None:
    registry.put("sssa/runtime", image)
    path = path.replace("DIGEST", image.digest).replace("CONFIG", image.config.digest)
    async with client.get(f"http://{registry.host}/v2/{path}") as reply:
        assert reply.status == 404
        if code is not None:
            assert [error["code"] for error in (await reply.json())["errors"]] == [code]


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE"])
async def test_nothing_can_be_put_there(
    registry: ImageRegistry, image: Image, client: aiohttp.ClientSession, method: str
) -> None:
    registry.put("sssa/runtime", image)
    url = f"http://{registry.host}/v2/sssa/runtime/blobs/{image.config.digest}"
    async with client.request(method, url, data=b"x") as reply:
        assert reply.status == 405
