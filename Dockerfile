# The validator's image: slim, locked, non-root. `--build-arg REQUIREMENTS=devnet` adds what the local network's miners need.
FROM python:3.12-slim AS build
ARG REQUIREMENTS=runtime
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/validator
COPY requirements/ /build/requirements/
RUN /opt/validator/bin/pip install --require-hashes -r /build/requirements/${REQUIREMENTS}.txt
COPY requirements/build.txt /build/requirements/build.txt
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r /build/requirements/build.txt
COPY pyproject.toml README.md LICENSE /build/
COPY validator/ /build/validator/
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/dist /build \
    && /opt/validator/bin/pip install --no-deps /build/dist/*.whl

FROM python:3.12-slim
ENV PATH=/opt/validator/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN groupadd --gid 10001 validator \
    && useradd --uid 10001 --gid validator --home-dir /data --shell /usr/sbin/nologin validator \
    && mkdir /data && chown validator:validator /data
COPY --from=build /opt/validator /opt/validator
USER validator
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["validator", "health"]
ENTRYPOINT ["validator"]
CMD ["run"]
