# Pinned by version. A digest names an image for one set of architectures and changes with every
# rebuild, so a release pins it from outside: --build-arg PYTHON_IMAGE=python:...@sha256:...
ARG PYTHON_IMAGE=python:3.13.15-slim-trixie

# Everything that builds stays in this stage. What it installs is pinned by hash, wheels only.
FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ONLY_BINARY=:all: \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

COPY .ci/requirements/build.txt .ci/requirements/runtime.txt .ci/requirements/
RUN pip install --require-hashes --requirement .ci/requirements/build.txt
RUN python -m venv --without-pip /opt/gpuspec \
    && pip --python /opt/gpuspec/bin/python install --require-hashes --requirement .ci/requirements/runtime.txt

COPY pyproject.toml README.md LICENSE ./
COPY selection_spec/ selection_spec/
COPY webhook/ webhook/
COPY certs/ certs/
RUN pip wheel --no-build-isolation --no-deps --wheel-dir /dist . \
    && pip --python /opt/gpuspec/bin/python install --no-index --no-deps /dist/*.whl
# Compiled here because nothing can be written later, and valid whatever the copied files' times are.
RUN python -m compileall -q -f --invalidation-mode unchecked-hash /opt/gpuspec/lib

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="gpuspec" \
      org.opencontainers.image.description="One resource line becomes the right GPU: a Kubernetes admission webhook and its command line." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN pip uninstall --yes --quiet --root-user-action=ignore pip \
    && rm -rf /usr/local/lib/python3.*/ensurepip
COPY --from=build /opt/gpuspec /opt/gpuspec
ENV PATH=/opt/gpuspec/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A number, so that runAsNonRoot can tell. It owns nothing, and needs no home and no place to write.
USER 65532:65532
WORKDIR /
EXPOSE 8443 8080
ENTRYPOINT ["gpuspec"]
CMD ["--help"]
