# Two images. A plain build makes the operator's (target `validator`): locked, non-root, without pip, compiler or local network.
# `--target localnet` adds the local network: its bundles are code that strangers might have written, and its miners run it.
# Two builds on one base hold the same files: BASE pins it by digest. All that is ours has this time, whenever it is built.
ARG BASE=python:3.12-slim
ARG SOURCE_DATE_EPOCH=1767225600

FROM $BASE AS system
ARG SOURCE_DATE_EPOCH
ENV PATH=/opt/validator/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN touch /before \
    && python -m pip uninstall --yes --quiet pip \
    && rm -rf "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')/ensurepip" \
    && echo 'validator:x:10001:10001::/data:/usr/sbin/nologin' >>/etc/passwd \
    && echo 'validator:x:10001:' >>/etc/group \
    && mkdir /data && chown 10001:10001 /data \
    && find / -xdev -newer /before -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} + \
    && rm /before && touch --date "@$SOURCE_DATE_EPOCH" / /etc

FROM $BASE AS dependencies
ARG SOURCE_DATE_EPOCH
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
COPY requirements/scale.txt /build/requirements/
# Packages bring programs (btcli, alembic, …): an operator needs none of them. What does not compile is no module of ours.
# They are copied from a root of their own: a copy to a folder would give that folder the time of the build.
RUN python -m venv --without-pip /opt/validator \
    && pip --python /opt/validator/bin/python install --no-compile --require-hashes -r /build/requirements/scale.txt \
    && find /opt/validator/bin -mindepth 1 ! -name 'python*' -delete \
    && (python -m compileall -qq --invalidation-mode unchecked-hash /opt/validator/lib || true) \
    && mkdir -p /packages/opt && cp -al /opt/validator /packages/opt \
    && find /packages -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +

FROM dependencies AS tools
COPY requirements/build.txt requirements/sbom.txt /build/requirements/
RUN python -m venv --without-pip /opt/build && python -m venv --without-pip /opt/sbom \
    && pip --python /opt/build/bin/python install --no-compile --require-hashes -r /build/requirements/build.txt \
    && pip --python /opt/sbom/bin/python install --no-compile --require-hashes -r /build/requirements/sbom.txt

# Our code goes below a root of its own, so that it is a layer of its own: a change of it ships nothing else.
FROM tools AS code
ARG SOURCE_DATE_EPOCH
COPY pyproject.toml README.md LICENSE /build/
COPY migrations/ /build/migrations/
COPY validator/ /build/validator/
COPY sssa/ /build/sssa/
COPY publisher/ /build/publisher/
COPY taskmaker/ /build/taskmaker/
RUN pip --python /opt/build/bin/python wheel --no-deps --no-build-isolation --wheel-dir /build/dist /build \
       /build/sssa /build/publisher /build/taskmaker \
    && pip --python /opt/validator/bin/python install --no-compile --no-deps --root /code /build/dist/*.whl \
    && python -m compileall -q -s /code -p / --invalidation-mode unchecked-hash /code \
    && cp -a /code/. / \
    && version=$(cd /build && /opt/build/bin/python -m hatchling version) \
    && sed "s/^dynamic = \[\"version\"\].*/version = \"$version\"/" /build/pyproject.toml >/build/sbom.toml \
    && /opt/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject /build/sbom.toml \
       --output-file /code/opt/validator/sbom.cdx.json /opt/validator/bin/python \
    && find /code -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +

FROM code AS localnet-code
ARG SOURCE_DATE_EPOCH
COPY requirements/miner.txt requirements/scanners.txt /build/requirements/
RUN pip --python /opt/validator/bin/python install --no-compile --require-hashes -r /build/requirements/miner.txt \
    && pip --python /opt/validator/bin/python install --no-compile --require-hashes --no-deps \
       -r /build/requirements/scanners.txt \
    && find /opt/validator/bin -mindepth 1 ! -name 'python*' ! -name validator ! -name sssa -delete \
    && (python -m compileall -qq --invalidation-mode unchecked-hash /opt/validator/lib || true)
COPY runner/ /build/runner/
COPY miner/ /build/miner/
COPY localnet/ /build/localnet/
RUN pip --python /opt/build/bin/python wheel --no-deps --no-build-isolation --wheel-dir /build/dist-localnet /build/runner \
       /build/miner /build/localnet \
    && pip --python /opt/validator/bin/python install --no-compile --no-deps --root /code /build/dist-localnet/*.whl \
    && (python -m compileall -qq -s /code -p / --invalidation-mode unchecked-hash /code || true) \
    && cp -a /code/. / \
    && /opt/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject /build/localnet/pyproject.toml \
       --output-file /code/opt/validator/sbom.cdx.json /opt/validator/bin/python \
    && find /opt/validator /code -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +

FROM system AS operator
COPY --from=dependencies /packages /
COPY --from=code /code /
USER 10001:10001
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["validator", "health"]
# It runs `validator`, and stays where that would end in the same way again (docs/operators/stop.md).
ENTRYPOINT ["python", "-P", "-m", "validator.daemon.entrypoint"]
CMD ["run"]
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="SSSA validator" \
      org.opencontainers.image.description="Validator daemon for a Bittensor subnet that scores Signed Skill Safety Attestations" \
      org.opencontainers.image.version="1.0.0.dev0" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.licenses="MIT"

FROM operator AS localnet
COPY --from=localnet-code /opt/validator /opt/validator
COPY --from=localnet-code /code /

# Last, so that it is what a build without a target makes.
FROM operator AS validator
