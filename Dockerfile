# dxgeom alone, for a user without rights. Build it in this folder: docker build --tag dxgeom .
FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements.lock ./
# Nothing is installed that has not the lock's hash. One library of the tests comes as source only, and is left out.
RUN awk '/^[a-z]/ {wanted = !/^pycddlib-standalone==/} wanted' requirements.lock > /wheels.lock
RUN python -m pip download --quiet --require-hashes --only-binary=:all: --dest /wheels --requirement /wheels.lock
RUN python -m venv /tools && /tools/bin/python -m pip install --quiet --no-index --find-links /wheels hatchling
COPY . .
RUN /tools/bin/python -m hatchling build -t wheel
RUN python -m venv /opt/dxgeom && /opt/dxgeom/bin/python -m pip install --quiet --no-index --find-links /wheels dist/*.whl

FROM python:3.11-slim
COPY --from=build /opt/dxgeom /opt/dxgeom
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin dxgeom && install --directory --owner 10001 /work
ENV PATH=/opt/dxgeom/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /work
ENTRYPOINT ["dxgeom"]
CMD ["--help"]
