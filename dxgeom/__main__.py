"""``python -m dxgeom`` is the same as ``dxgeom``."""

from __future__ import annotations

from dxgeom.cli.main import run

if __name__ == "__main__":
    run()
