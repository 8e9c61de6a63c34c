"""``dxgeom studio``: a page on this computer on which a policy is tried out before it is signed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, TypeAlias

import typer

from dxgeom.cli.options import Format, PolicyFile, leave_unloaded
from dxgeom.cli.terminal import print_error, print_lines, refusals
from dxgeom.errors import DataError

AskedFile: TypeAlias = Annotated[
    Path | None, typer.Argument(help="The queries file (YAML), which is only read.", metavar="[QUERIES]")
]
PortOption: TypeAlias = Annotated[
    int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port; 0 takes any that is free.")
]
BrowserOption: TypeAlias = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in this computer's browser.")
]


@contextmanager
def opened(address: str, *, browser: bool) -> Iterator[None]:
    """The page in this computer's browser, by a file that only its owner can read and that leads there.

    Everybody on a computer can see how programs were called: the address, which has the token, is not handed to one.
    """
    if not browser:
        yield
        return
    import webbrowser

    with TemporaryDirectory(prefix="dxgeom-studio-") as folder:
        way = Path(folder) / "studio.html"
        leads = f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">The policy studio</a>'
        way.write_text(f'<!doctype html><html lang="en"><title>Policy studio</title>{leads}</html>\n', encoding="ascii")
        webbrowser.open(way.as_uri())
        yield


def studio(policy: PolicyFile, queries: AskedFile = None, port: PortOption = 0, browser: BrowserOption = True) -> None:
    """Open a page on which a policy is tried out: promises as sliders, who is near whom, how exact answers are,
    what changes, and the file itself.

    The page is for this computer only. It reads no data, and writes the policy file when asked to. Ctrl+C ends it.

    \b
    Example:
      dxgeom studio policies/clinic/policy.yaml policies/clinic/queries.yaml
    """
    with refusals(Format.text):
        leave_unloaded()
        from dxgeom.studio.server import StudioServer
        from dxgeom.studio.session import Studio

        tried = Studio(policy, queries)
        try:
            server = StudioServer(tried, port)
        except OSError as error:
            raise DataError(f"port {port} cannot be used: {error.strerror or error}; leave out --port") from error
        gc.collect()
        gc.freeze()  # looking again and again through all that is loaded made some moves take twice as long
        print_lines([f"policy studio: {server.address}", "Ctrl+C ends it; only this computer can open the page"])
        with opened(server.address, browser=browser), server, suppress(KeyboardInterrupt):
            server.serve_forever()
        if not tried.saved:
            print_error(f"what was changed in the studio is not saved: {policy} is as it was")
