"""Spark on this machine: in this process, or a master and workers on loopback, with nothing left of them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.shuffle.partitions": "4",
}
"""A time zone that no test means, so that none of its answers come from it."""


def session_of(master: str) -> Any:
    """A session with a master; ``local[2]`` is one in this process."""
    from pyspark.sql import SparkSession

    # The console's bar and warnings are not what tests are about.
    builder = (
        SparkSession.builder.master(master).appName("dxgeom tests").config("spark.ui.showConsoleProgress", "false")
    )
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class SparkCluster:
    """A standalone master and workers, as their own processes, stopped by :meth:`close`."""

    def __init__(self, workers: int = 2) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dxgeom-spark-"))
        port = _free_port()
        self.master = f"spark://127.0.0.1:{port}"
        of_master = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        self._processes = [self._started("org.apache.spark.deploy.master.Master", *of_master)]
        for _ in range(workers):
            limits = ["--cores", "1", "--memory", "1g", "--webui-port", "0", "--host", "127.0.0.1"]
            worker = "org.apache.spark.deploy.worker.Worker"
            self._processes.append(self._started(worker, *limits, "--work-dir", str(self.folder), self.master))
        self._wait(port)

    def close(self) -> None:
        """Stops all and removes what they kept."""
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        environment |= {"SPARK_DAEMON_MEMORY": "1g", "SPARK_MASTER_OPTS": "-Dspark.master.ui.enabled=false"}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [str(home / "bin" / "spark-class"), name, *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, start_new_session=True,
            )  # fmt: skip

    def _wait(self, port: int) -> None:
        until = time.monotonic() + 180
        while (self.folder / "log").read_text(errors="replace").count("Registering worker") < len(self._processes) - 1:
            if time.monotonic() > until or any(process.poll() is not None for process in self._processes):
                log = (self.folder / "log").read_text(errors="replace")
                self.close()
                raise RuntimeError(f"Spark did not start:\n{log}")
            time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
