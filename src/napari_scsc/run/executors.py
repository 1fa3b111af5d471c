"""Executors beside threads: the workers of a dask.distributed cluster."""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from napari_scsc._types import Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.foreign_arrays import is_xarray
from napari_scsc.data.image import ImageArray, read_masked
from napari_scsc.run.proof import check_environment, find_environment

_CONNECTION_LOST = "the connection to the scheduler of the cluster was lost"
_MAX_PICKLED_READER_BYTES = 1 << 20  # larger ones hold the data, and are not sent


class ClusterFailed(Exception):
    """The cluster does not go on; nothing is wrong with what it computed."""


class ClusterOutOfMemory(ClusterFailed):
    """Its workers have not enough memory."""


def has_other_processes() -> bool:
    """Whether dask would compute in processes that may see other files, and have other code."""
    from dask.base import get_scheduler

    if ClusterExecutor.active() is not None:
        return True
    from dask import local, threaded

    return get_scheduler() not in (None, threaded.get, local.get_sync)


class ClusterExecutor:
    """The workers of a dask.distributed client."""

    is_here = False
    _SECONDS_BETWEEN_CHECKS = 0.2  # of the cancellation
    _SECONDS_BETWEEN_LOOKS = 5.0  # at the workers
    _MAX_LOOKS_AT_PAUSED = 3  # that find all workers paused, before nobody waits any longer
    _MAX_LOOKS_AT_NONE = 120  # the same, where there were workers, and are none any more

    def __init__(self, client: Any) -> None:
        self.client = client
        self._had_workers = False
        self._lock = threading.Lock()
        self._is_checked = False

    @classmethod
    def active(cls) -> ClusterExecutor | None:
        """The cluster that dask would compute on; None if there is none."""
        import dask

        distributed = sys.modules.get("distributed")  # who has a client has loaded it
        wanted = dask.config.get("scheduler", None)
        if distributed is None:
            return None
        client = wanted
        if wanted in (None, "distributed", "dask.distributed"):
            try:
                client = distributed.default_client()
            except ValueError:
                return None
        if not isinstance(client, distributed.Client):
            return None
        return None if client.asynchronous else cls(client)

    def map(self, function: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
        """Futures of the calls; those among the arguments are resolved where they are."""
        import dask

        self._check_workers()
        # A tile of an array that only this process can read comes with the task, as it must: if
        # its worker is lost, another one has it again.
        quiet = {"distributed.admin.large-graph-warning-threshold": "1 GB"}
        with self._explaining_failures(), self._lock, dask.config.set(quiet):
            return list(self.client.map(function, *map(list, columns), pure=False))

    def _check_workers(self) -> None:
        """Refuse workers that compute with other versions, once."""
        if self._is_checked:
            return

        async def ask() -> list[Any]:
            return list((await self.client.run(find_environment, asynchronous=True)).items())

        for worker, environment in self._await(NEVER, ask):
            check_environment(environment, find_environment(), worker)
        self._is_checked = True

    def compute(self, tasks: list[Any], cancellation: Cancellation = NEVER) -> list[Any]:
        """The values of dask's delayed calls."""
        with self._explaining_failures():
            futures = list(self.client.compute(tasks))
        return self.gather(futures, cancellation)

    def gather(self, results: list[Any], cancellation: Cancellation = NEVER) -> list[Any]:
        """The values of futures, and other values as they are."""
        distributed = sys.modules["distributed"]
        try:
            return self._await(cancellation, lambda: self.client.gather(results, asynchronous=True))
        except BaseException:
            waiting = [r for r in results if isinstance(r, distributed.Future)]
            # Which ends the coroutine too, quietly.
            with suppress(ClusterFailed):
                self._start_coroutine(lambda: self.client.cancel(waiting, asynchronous=True))
            raise

    def _await(self, cancellation: Cancellation, coroutine: Callable[[], Any]) -> list[Any]:
        """What a coroutine of the client returns, as long as there is hope for it.

        Methods of the client would wait forever where it is closed meanwhile.
        """
        coming, stuck = (
            self._start_coroutine(coroutine),
            self._start_coroutine(self._find_why_stuck),
        )
        try:
            while True:
                cancellation.check()
                wait([coming], timeout=self._SECONDS_BETWEEN_CHECKS)
                with self._explaining_failures():
                    if coming.done():
                        return list(coming.result())
                if self.client.status != "running":
                    raise ClusterFailed(_CONNECTION_LOST)
                if stuck.done() and not stuck.cancelled() and not stuck.exception():
                    raise stuck.result()
        finally:
            stuck.cancel()

    def _start_coroutine(self, coroutine: Callable[[], Any]) -> Future[Any]:
        """Run a coroutine in the client's own thread."""
        loop = self.client.loop.asyncio_loop
        if self.client.status != "running" or not loop.is_running():
            raise ClusterFailed(_CONNECTION_LOST)
        return asyncio.run_coroutine_threadsafe(coroutine(), loop)

    async def _find_why_stuck(self) -> ClusterFailed:
        """Return when nothing goes on any more.

        A worker above four fifths of its memory begins nothing, but is not killed either: every one
        has paused, with nothing to finish that could end it. Or all are gone for long; for its
        first one a cluster may have to wait for hours.
        """
        n_paused, n_none = 0, 0
        while True:
            await asyncio.sleep(self._SECONDS_BETWEEN_LOOKS)
            workers = (await self.client.scheduler.identity())["workers"].values()
            self._had_workers = self._had_workers or bool(workers)
            paused = [
                w["status"] == "paused" and not w["metrics"].get("task_counts", {}).get("executing")
                for w in workers
            ]
            n_paused = n_paused + 1 if paused and all(paused) else 0
            n_none = n_none + 1 if self._had_workers and not workers else 0
            if n_paused >= self._MAX_LOOKS_AT_PAUSED:
                text = "all workers of the cluster have paused for want of memory"
                return ClusterOutOfMemory(text)
            if n_none >= self._MAX_LOOKS_AT_NONE:
                minutes = n_none * self._SECONDS_BETWEEN_LOOKS / 60
                return ClusterFailed(
                    f"all workers of the cluster are gone, and none came for {minutes:.0f} minutes"
                )

    @contextmanager
    def _explaining_failures(self) -> Iterator[None]:
        """Tell errors of the cluster from those of the work."""
        distributed = sys.modules["distributed"]
        try:
            yield
        except distributed.KilledWorker as error:
            raise ClusterOutOfMemory(
                "workers of the cluster died again and again, most likely because they ran out "
                "of memory"
            ) from error
        except (Exception, asyncio.CancelledError) as error:
            is_lost = isinstance(error, distributed.comm.CommClosedError)
            if is_lost or self.client.status != "running":
                raise ClusterFailed(_CONNECTION_LOST) from error
            if isinstance(error, CancelledError | asyncio.CancelledError):
                raise ClusterFailed(f"the cluster dropped the work ({error})") from error
            raise

    def can_read(self, image: ImageArray) -> bool:
        """Whether the workers can read the image, so that its values need not be sent to them."""
        if image.is_lazy:
            return image.missing is None
        if image.is_numpy or image.chunks is None:
            return False
        try:
            return len(pickle.dumps(image)) <= _MAX_PICKLED_READER_BYTES
        except Exception:  # whatever an open file raises
            return False

    def read(self, image: ImageArray, region: Region) -> Any:
        """A future of the values of a region."""
        if not image.is_lazy:
            return self.map(partial(read_masked, image), [region])[0]
        part = image.part(region)
        with self._explaining_failures():
            return self.client.compute(part.data if is_xarray(part) else part)
