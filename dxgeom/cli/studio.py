"""``dxgeom studio``: a page on this computer on which a policy is tried out before it is signed."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, TypeAlias

import typer

from dxgeom.cli.options import Format, PolicyFile, leave_unloaded
from dxgeom.cli.terminal import print_error, print_lines, refusals
from dxgeom.errors import DataError

PortOption: TypeAlias = Annotated[
    int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port; 0 takes any that is free.")
]
BrowserOption: TypeAlias = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in this computer's browser.")
]


def studio(policy: PolicyFile, port: PortOption = 0, browser: BrowserOption = True) -> None:
    """Open a page on which a policy is tried out: promises as sliders, what changes, and the file itself.

    The page is for this computer only. It reads no data, and writes the policy file when asked to. Ctrl+C ends it.

    \b
    Example:
      dxgeom studio policies/clinic/policy.yaml
    """
    with refusals(Format.text):
        leave_unloaded()
        from dxgeom.studio.server import StudioServer
        from dxgeom.studio.session import Studio

        tried = Studio(policy)
        try:
            server = StudioServer(tried, port)
        except OSError as error:
            raise DataError(f"port {port} cannot be used: {error.strerror or error}; leave out --port") from error
        print_lines([f"policy studio: {server.address}", "Ctrl+C ends it; only this computer can open the page"])
        if browser:
            import webbrowser

            webbrowser.open(server.address)
        with server, suppress(KeyboardInterrupt):
            server.serve_forever()
        if not tried.saved:
            print_error(f"what was changed in the studio is not saved: {policy} is as it was")
