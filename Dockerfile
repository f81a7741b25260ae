# Two images. A plain build makes the operator's (target `validator`): locked, non-root, without pip, compiler or local network.
# `--target localnet` adds the local network: its bundles are code that strangers might have written, and its miners run it.
FROM python:3.12-slim AS system
ENV PATH=/opt/validator/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m pip uninstall --yes pip && rm -r /usr/local/lib/python3.12/ensurepip \
    && groupadd --gid 10001 validator \
    && useradd --uid 10001 --gid validator --home-dir /data --shell /usr/sbin/nologin validator \
    && mkdir /data && chown validator:validator /data

FROM python:3.12-slim AS dependencies
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/build.txt requirements/scale.txt /build/requirements/
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r /build/requirements/build.txt \
    && python -m venv --without-pip /opt/validator \
    && pip --python /opt/validator/bin/python install --require-hashes -r /build/requirements/scale.txt

# Our code goes below a root of its own, so that it is a layer of its own: a change of it ships nothing else.
FROM dependencies AS code
COPY pyproject.toml README.md LICENSE /build/
COPY migrations/ /build/migrations/
COPY validator/ /build/validator/
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/dist /build \
    && pip --python /opt/validator/bin/python install --no-deps --root /code /build/dist/*.whl

FROM code AS localnet-code
COPY requirements/localnet.txt /build/requirements/
RUN pip --python /opt/validator/bin/python install --require-hashes -r /build/requirements/localnet.txt
COPY localnet/ /build/localnet/
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/dist-localnet /build/localnet \
    && pip --python /opt/validator/bin/python install --no-deps --root /code /build/dist-localnet/*.whl

FROM system AS operator
COPY --from=dependencies /opt/validator /opt/validator
COPY --from=code /code /
USER validator
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["validator", "health"]
ENTRYPOINT ["validator"]
CMD ["run"]

FROM operator AS localnet
COPY --from=localnet-code /opt/validator /opt/validator
COPY --from=localnet-code /code /

# Last, so that it is what a build without a target makes.
FROM operator AS validator
