"""A registry of images on loopback, for reading: what an engine on this machine pulls by digest.

Engines take plain HTTP from 127.0.0.0/8 without a setting.
"""

from types import TracebackType
from typing import Final, Self

import msgspec
from aiohttp import web

from localnet.images.build import Blob, Image
from miner.server import HOST
from sssa.protocol.runtime_image import RuntimeImage
from validator.incoming.server import BoundedServer, Bounds

_DIGEST: Final = r"sha256:[0-9a-f]{64}"
_BOUNDS: Final = Bounds(connections=64, header_s=10.0, request_s=300.0)
_VERSION: Final = {"Docker-Distribution-Api-Version": "registry/2.0"}


class ImageRegistry:
    """Serves the images it is given, by digest alone; nothing can be put there over HTTP. A context manager."""

    def __init__(self) -> None:
        self._manifests: dict[tuple[str, str], Blob] = {}
        self._blobs: dict[tuple[str, str], Blob] = {}
        app = web.Application(client_max_size=1)
        app.add_routes(
            [
                web.get("/v2/", self._hello),
                web.get(f"/v2/{{name:.+}}/manifests/{{digest:{_DIGEST}}}", self._manifest),
                web.get(f"/v2/{{name:.+}}/blobs/{{digest:{_DIGEST}}}", self._blob),
            ]
        )
        self._server = BoundedServer("images", app, _BOUNDS)
        self.host = ""

    async def __aenter__(self) -> Self:
        """Listen on a free port."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        await self.close()

    async def start(self, port: int = 0) -> str:
        """Listen on loopback and return `host:port`, which names the registry; a free port unless one is named.

        Raises:
            OSError: the port cannot be had.
        """
        ((host, port),) = (await self._server.start(HOST, port)).addresses
        self.host = f"{host}:{port}"
        return self.host

    async def close(self) -> None:
        """Stop listening."""
        await self._server.close()

    def put(self, name: str, image: Image) -> RuntimeImage:
        """Serve the image under a name (`a/b`, as repositories are named) and return what names it."""
        self._manifests[name, image.digest] = image.manifest
        self._blobs |= {(name, blob.digest): blob for blob in (image.config, *image.layers)}
        return RuntimeImage(f"{self.host}/{name}", image.digest)

    async def _hello(self, _request: web.Request) -> web.Response:
        return web.json_response({}, headers=_VERSION)

    async def _manifest(self, request: web.Request) -> web.StreamResponse:
        entry = self._manifests.get((request.match_info["name"], request.match_info["digest"]))
        return _unknown("MANIFEST_UNKNOWN", "manifest unknown") if entry is None else _sent(entry)

    async def _blob(self, request: web.Request) -> web.StreamResponse:
        entry = self._blobs.get((request.match_info["name"], request.match_info["digest"]))
        return _unknown("BLOB_UNKNOWN", "blob unknown to registry") if entry is None else _sent(entry)


def _sent(blob: Blob) -> web.StreamResponse:
    headers = {**_VERSION, "Content-Type": blob.media_type, "Docker-Content-Digest": blob.digest}
    if isinstance(blob.content, bytes):
        return web.Response(body=blob.content, headers=headers)
    return web.FileResponse(blob.content, headers=headers)


def _unknown(code: str, message: str) -> web.Response:
    errors = [{"code": code, "message": message, "detail": {}}]
    return web.Response(
        status=404,
        body=msgspec.json.encode({"errors": errors}),
        headers={**_VERSION, "Content-Type": "application/json"},
    )
