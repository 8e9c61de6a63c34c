"""JupyterLab's own program on loopback, with settings, kernels and files in a temporary folder of its own."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

_SECONDS = 120
_QUIET = {"fetchNews": "false", "checkForUpdates": False}


class JupyterLab:
    """A server of the files below a folder: started when made, ended with all kernels by :meth:`close`."""

    def __init__(self, folder: Path, theme: str) -> None:
        self._token, self._port = secrets.token_hex(16), _free_port()
        kept = folder / ".jupyter"
        for name, settings in (("themes", {"theme": theme}), ("notification", _QUIET)):
            place = kept / "settings" / "@jupyterlab" / "apputils-extension" / f"{name}.jupyterlab-settings"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(settings))
        places = {f"JUPYTER_{name}_DIR": str(kept / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
        of_lab = {"JUPYTERLAB_SETTINGS_DIR": str(kept / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(kept / "places")}
        words = {"ip": "127.0.0.1", "port": self._port, "port_retries": 0, "root_dir": folder, "open_browser": False}
        command = [sys.executable, "-m", "jupyterlab", "--allow-root", f"--IdentityProvider.token={self._token}"]
        self._process = subprocess.Popen(
            [*command, *(f"--ServerApp.{name}={value}" for name, value in words.items())],
            env={**os.environ, **places, **of_lab},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._until_it_answers()

    def address(self, name: str) -> str:
        """Where a notebook is opened."""
        return f"http://127.0.0.1:{self._port}/lab/tree/{name}?token={self._token}"

    def close(self) -> None:
        """End it, and the kernels that it began."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _until_it_answers(self) -> None:
        end = time.monotonic() + _SECONDS
        while True:
            try:
                urlopen(f"http://127.0.0.1:{self._port}/api?token={self._token}", timeout=5).close()
                return
            except (URLError, OSError) as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("JupyterLab did not start") from error
                time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
