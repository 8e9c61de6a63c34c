"""What tests of services need of a machine, by the service's name."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

from services.browser import AXE
from services.browser import PROGRAMS as OF_A_BROWSER
from services.postgres import PROGRAMS, program


def missing(service: str) -> str | None:
    """What of a service is not on this machine, and how to get it; None where all is there."""
    return _MISSING[service]()


def _postgres() -> str | None:
    if find_spec("psycopg") is None:
        return "psycopg is not installed; make test-services installs it"
    if not all(map(program, PROGRAMS)):
        return "PostgreSQL is not installed; apt-get install postgresql, then make test-services"
    return None


def _spark() -> str | None:
    if find_spec("pyspark") is None:
        return "pyspark is not installed; make test-services installs it"
    if shutil.which("java") is None:
        return "Java is not installed; apt-get install openjdk-17-jre-headless, then make test-services"
    return None


def _browser() -> str | None:
    if find_spec("selenium") is None or not AXE.is_file():
        return "Selenium and axe-core are not installed; make test-services installs them"
    if not all(map(shutil.which, OF_A_BROWSER)):
        return "Chromium is not installed; apt-get install chromium chromium-driver, then make test-services"
    return None


def _notebook() -> str | None:
    if find_spec("nbconvert") is None or find_spec("ipykernel") is None:
        return "nbconvert and ipykernel are not installed; make test-services installs them"
    return None


def _jupyterlab() -> str:
    return "JupyterLab at times leaves cells unrun, and is driven where DXGEOM_MUST_RUN names it, as make soak does"


_MISSING = {
    "postgres": _postgres,
    "spark": _spark,
    "browser": _browser,
    "notebook": _notebook,
    "jupyterlab": _jupyterlab,
}
