"""The jobs that one reading begins on Spark: how far they are, and their end when nobody waits for them any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, final

from dxgeom.numeric.optional_library import optional_library


@final
class Jobs:
    """What is worked out in a session under a name of its own, beside whatever else that session does.

    A session of Spark Connect knows no jobs, and is not asked how far they are.
    """

    def __init__(self, session: Any, name: str) -> None:
        self._session, self._name = session, name
        self._context = getattr(session, "sparkContext", None)
        self._most = 0.0
        self._ended: dict[int, tuple[int, int]] = {}

    def aside(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """The same work in another thread, whose jobs bear the name, and are otherwise as those of this thread are."""
        util = optional_library("pyspark.util", "spark", "tables on Spark are read")

        def named() -> Any:
            if self._context is None:
                self._session.addTag(self._name)
            else:
                self._context.setJobGroup(self._name, "dxgeom reads a table", interruptOnCancel=True)
            return work()

        alike: Any = util.inheritable_thread_target(self._session)
        # Where threads here share one of Spark's (PYSPARK_PIN_THREAD=false) a name would be for all of them.
        return work if alike is self._session else cast(Callable[[], Any], alike(named))

    def stop(self) -> None:
        """Ends them."""
        if self._context is None:
            self._session.interruptTag(self._name)
        else:
            self._context.cancelJobGroup(self._name)

    def fraction(self) -> float | None:
        """How many of the tasks that are known are done; never less than before, for tasks become known late."""
        if self._context is None:
            return None
        tracker = self._context.statusTracker()
        known = [self._tasks(tracker, job) for job in tracker.getJobIdsForGroup(self._name)]
        tasks = sum(one for one, _ in known)
        if not tasks:
            return None
        self._most = max(self._most, sum(done for _, done in known) / tasks)
        return self._most

    def _tasks(self, tracker: Any, number: int) -> tuple[int, int]:
        """How many tasks of a job are known, and how many of them are done; not asked again once it has ended."""
        if number in self._ended:
            return self._ended[number]
        job = tracker.getJobInfo(number)
        stages = [] if job is None else [one for one in map(tracker.getStageInfo, job.stageIds) if one is not None]
        found = sum(stage.numTasks for stage in stages), sum(stage.numCompletedTasks for stage in stages)
        if job is not None and job.status == "SUCCEEDED":
            self._ended[number] = found
        return found
