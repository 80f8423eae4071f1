# Both programs on a CPU, for a user who is not root:
#   docker build -t mmconvert .
#   docker run --rm -v "$PWD:/data" -u "$(id -u):$(id -g)" mmconvert convert in.tsv -o out
#   docker run --rm -v "$PWD:/data" -u "$(id -u):$(id -g)" --entrypoint mmscore mmconvert answers.parquet
# EXTRAS adds what docs/install.md lists: --build-arg EXTRAS=score,xlsx,infer
#
# The base is named by its tag: a digest would keep its Debian packages without later security fixes until somebody changes
# it here. What decides about numbers, the Python packages, is pinned by hashes in scripts/locks.
FROM python:3.11-slim-bookworm AS build
ARG EXTRAS=score,xlsx
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
COPY scripts/locks/base.txt ./
RUN python -m venv /opt/mmconvert \
    && /opt/mmconvert/bin/pip install --require-hashes --no-deps --requirement base.txt
# Where an extra brings torch, the build without CUDA, which PyPI does not have.
COPY scripts/constraints.txt ./
RUN case ",${EXTRAS}," in *,infer,* | *,train,*) \
      /opt/mmconvert/bin/pip install --index-url https://download.pytorch.org/whl/cpu --constraint constraints.txt torch \
    ;; esac
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY schemas schemas
COPY src src
RUN /opt/mmconvert/bin/pip install ".[${EXTRAS}]" && /opt/mmconvert/bin/pip check

FROM python:3.11-slim-bookworm
COPY --from=build /opt/mmconvert /opt/mmconvert
# Whichever user `-u` names may write there: caches of the Hub's client.
ENV HOME=/tmp \
    PATH=/opt/mmconvert/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
USER 1000
WORKDIR /data
ENTRYPOINT ["mmconvert"]
CMD ["--help"]
