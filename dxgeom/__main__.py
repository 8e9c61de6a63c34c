"""``python -m dxgeom`` is the same as ``dxgeom``."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

_INTERRUPTED = 130


def run() -> None:
    """The console script; whoever stops it while it is still being loaded reads a sentence, too."""
    # Matrices are small here: a second thread mostly waits, and is counted. Whoever wants more says so before.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A command makes many objects while it is loaded, nearly all of which stay: looking through them finds no garbage.
    gc.set_threshold(100_000)
    try:
        from dxgeom.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        with suppress(AttributeError, OSError):  # standard error may be closed
            sys.stderr.write("interrupted; nothing was read, spent or written\n")
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
