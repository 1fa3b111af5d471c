"""Jobs whose process, disk, input or memory fails at a random moment, round after round.

``python tests/faults/fault_rounds.py kills --rounds 1000``. A round ends in the right bits or in a
clear word, and resumed without faults in the right bits; whatever else happens is told with the
seed and the number of the round, by which it can be had again (``--seed 3 --first 17 --rounds 1``).

Each job is the command line in a process of its own, forked from this one, which has loaded the
package and starts no threads.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SHAPE = (120, 110)
INTERRUPTED = 130
MAX_SECONDS = 90  # of a job that is not stuck
QUICK = ("--quality", "draft", "--jobs", "2")
LEARN = ("--size", "5", "--n-base", "4", "--passes", "3", "--kind", "image")

LOADED = (
    "dask.array",
    "scipy.sparse",
    "tifffile",
    "tqdm",
    "zarr",
    "napari_scsc.batch.job",
    "napari_scsc.cli.batch",
    "napari_scsc.io.codes",
    "napari_scsc.io.formats.zarr_files",
    "napari_scsc.io.formats.numpy_files",
    "napari_scsc.io.stores",
    "napari_scsc.learning.api",
    "napari_scsc.restore.api",
    "napari_scsc.restore.bank_fit",
    "napari_scsc.restore.denoise",
    "napari_scsc.restore.inpaint",
    "napari_scsc.restore.recipe",
)


@dataclass(frozen=True)
class Job:
    """A command, without its output and ``--resume``, and the names of its results."""

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    out: str = ""

    def command(self, *more: str) -> list[str]:
        """The command, with its output."""
        return [*self.arguments, "-o", self.out or self.results[0], *more]


JOBS = {
    "npy": Job(("denoise", "../in.npy", *QUICK), ("out.npy",)),
    "tif": Job(("denoise", "../in.npy", *QUICK), ("out.ome.tif",)),
    "zarr": Job(("denoise", "../in.zarr", *QUICK), ("out.zarr",)),
    "ome": Job(("denoise", "../in.zarr", *QUICK), ("out.ome.zarr",)),
    "error": Job(("denoise", "../in.npy", *QUICK, "--error"), ("out.zarr", "out.error.zarr")),
    "holes": Job(("inpaint", "../in.npy", "--mask", "../mask.npy", *QUICK), ("out.zarr",)),
    "codes": Job(("encode", "../in.npy", "--bank", "../bank.scsc", "--jobs", "2"), ("out.zarr",)),
    "bank": Job(("learn", "../in.npy", *LEARN), ("out.scsc",)),
    "batch": Job(("denoise", "../in.npy", "../other.npy", *QUICK), ("in.npy", "other.npy"), "./"),
}


# --- processes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, or the negative signal, and what it said."""

    code: int | None
    said: str
    seconds: float


def start(function: Callable[[], object], folder: Path, log: Path) -> int:
    """Run a function in a fork of this process; its exit code is 0 unless it exits otherwise."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.chdir(folder)
        stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        faulthandler.enable(stream)
        faulthandler.dump_traceback_later(MAX_SECONDS - 5, file=stream)
        function()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:  # before the program had begun
        print("napari-scsc: stopped", flush=True)
        code = INTERRUPTED
    except BaseException as error:
        print(f"LEAKED {type(error).__name__}: {error}", flush=True)
        code = 99
    sys.stdout.flush()
    os._exit(code)


def wait(pid: int, log: Path, started: float, until: float | None = None) -> Ended | None:
    """Wait for a process to end; None if it still runs at a time."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        now = time.monotonic()
        if ended:
            said = log.read_text(errors="replace") if log.exists() else ""
            return Ended(os.waitstatus_to_exitcode(status), said, now - started)
        if until is not None and now >= until:
            return None
        if now - started > MAX_SECONDS:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Ended(None, log.read_text(errors="replace"), now - started)
        time.sleep(0.002)


def run_command(arguments: Sequence[str]) -> None:
    """The command line, with small blocks, and a checkpoint after every tile."""
    from napari_scsc.cli import commands

    commands.main(list(arguments), prog_name="napari-scsc")


def shrink_blocks() -> None:
    """Several blocks and chunks in an image that takes a fraction of a second."""
    from napari_scsc.cli import commands
    from napari_scsc.restore import passes
    from napari_scsc.run import block_grid

    passes._bytes_per_point = lambda *_: 2e4
    block_grid.CHUNK_VALUES = 3000
    commands._MAX_SECONDS_LOST = 0.0


def digest_of(path: Path) -> str:
    """A digest of the values of a result."""
    if path.name.endswith(".scsc"):
        from napari_scsc import FilterBank

        return FilterBank.load(path).id
    from napari_scsc.batch.inputs import holds_codes

    if holds_codes(str(path)):
        from napari_scsc import open_codes

        values = open_codes(path).reconstruct().compute(scheduler="synchronous")
    else:
        from napari_scsc.io.formats import open_file

        values = np.asarray(open_file(path).array)
    return hashlib.sha256(np.ascontiguousarray(values).data).hexdigest()


def digest_of_files(folder: Path) -> str:
    """A digest of all bytes in a folder, and of their names."""
    found = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


# --- rounds ---------------------------------------------------------------------------------------


class Failed(Exception):
    """A round ended in a third thing."""


class Rounds:
    """Everything that the rounds of one kind share."""

    def __init__(self, kind: str, seed: int, jobs: Sequence[str]) -> None:
        self.kind, self.seed, self.jobs = kind, seed, jobs
        self.base = Path(tempfile.mkdtemp(prefix="faults-"))
        self.log = self.base / "log.txt"
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.expected: dict[tuple[str, str], str] = {}
        self._prepare()

    def _prepare(self) -> None:
        from napari_scsc.groups import compiling

        for module in LOADED:  # here, and not in each of the processes
            importlib.import_module(module)
        self._call(self._make_inputs, self.base)
        compiling.warm_up()
        for name in self.jobs:
            job, folder = JOBS[name], self.base / f"whole-{name}"
            folder.mkdir()
            ended = self.run(job.command(), folder)
            if ended.code != 0:
                raise SystemExit(f"{name} fails without a fault: {ended.said}")
            self.seconds[name] = ended.seconds
            for result in job.results:
                self.expected[name, result] = self.digest(folder / result)

    def _make_inputs(self) -> None:
        import zarr

        from napari_scsc import learn, samples

        images = [samples.noisy_tissue(SHAPE, seed=i) for i in range(2)]
        np.save("in.npy", images[0])
        np.save("other.npy", images[1])
        zarr.create_array("in.zarr", data=images[0], chunks=(48, 48))
        np.save("mask.npy", np.random.default_rng(0).random(SHAPE) < 0.1)
        learn([images[0]], kind="image", model="scsc", tiles=1, n_base=4).save("bank.scsc")

    def _call(self, function: Callable[[], object], folder: Path) -> str:
        """What a function prints, in a process of its own."""
        ended = wait(start(function, folder, self.log), self.log, time.monotonic())
        assert ended is not None
        if ended.code != 0:
            raise Failed(f"{function} ended with {ended.code}: {ended.said}")
        return ended.said

    def digest(self, path: Path) -> str:
        """The digest of a result, or a failure if it cannot be read."""
        return self._call(lambda: print(digest_of(path)), self.base).split()[-1]

    def begin(
        self, command: Sequence[str], folder: Path, limit: Callable[[], object] = lambda: None
    ) -> int:
        """Start a command in a folder."""

        def run() -> None:
            limit()
            run_command(command)

        return start(run, folder, self.log)

    def run(
        self, command: Sequence[str], folder: Path, limit: Callable[[], object] = lambda: None
    ) -> Ended:
        """Run a command in a folder to its end."""
        ended = wait(self.begin(command, folder, limit), self.log, time.monotonic())
        assert ended is not None
        return ended

    def round(self, number: int) -> str:
        """One round; returns how it ended."""
        rng = random.Random(f"{self.kind} {self.seed} {number}")
        name = rng.choice(list(self.jobs))
        folder = self.base / f"round-{number}"
        folder.mkdir()
        self.inputs = digest_of_files_named(self.base)
        try:
            how = FAULTS[self.kind](self, name, folder, rng)
            self.check_inputs()
        except Failed as error:
            raise Failed(
                f"{self.kind}, seed {self.seed}, round {number}, {name}: {error}"
            ) from None
        finally:
            unmount(folder)
        shutil.rmtree(folder)
        return f"{name}: {how}"

    def other_bits(self, name: str, victim: Path, data: bytes) -> list[str]:
        """The digests of the results that a job has when one of its inputs is another."""
        before, folder = victim.read_bytes(), self.base / "other"
        folder.mkdir()
        try:
            victim.write_bytes(data)
            ended = self.run(JOBS[name].command(), folder)
            if ended.code != 0:
                raise Failed(f"cannot be restored, and was: {ended.said}")
            return [self.digest(folder / result) for result in JOBS[name].results]
        finally:
            victim.write_bytes(before)
            shutil.rmtree(folder)

    def check_inputs(self) -> None:
        """The files of the user are what they were."""
        if digest_of_files_named(self.base) != self.inputs:
            raise Failed("an input was changed")

    def check_whole_or_not_there(self, name: str, folder: Path) -> None:
        """Whatever has the name of a result is right."""
        for result in JOBS[name].results:
            path = folder / result
            if path.exists() and self.digest(path) != self.expected[name, result]:
                raise Failed(f"{result} has other values")

    def check_word(self, ended: Ended, *words: str) -> None:
        """A process that failed says why, in a line of its own, and nothing leaks."""
        if ended.code is None:
            raise Failed(f"stuck: {ended.said[-9000:]}")
        said = ended.said.partition("Exception ignored in")[0]  # by Python, which shows where
        if ended.code < 0 or ended.code == 99 or "Traceback" in said:
            raise Failed(f"ended with {ended.code}: {ended.said[-2000:]}")
        if ended.code != 0:
            lines = [line for line in ended.said.splitlines() if line.startswith("napari-scsc: ")]
            if not lines:
                raise Failed(f"ended with {ended.code} and no word: {ended.said[-2000:]}")
            if words and not any(word in line for word in words for line in lines):
                raise Failed(f"another word: {lines}")

    def finish(self, name: str, folder: Path) -> None:
        """Resumed without a fault, it ends in the right bits and leaves nothing."""
        ended = self.run(JOBS[name].command("--resume"), folder)
        if ended.code != 0:
            raise Failed(f"did not go on ({ended.code}): {ended.said[-2000:]}")
        self.check_end(name, folder)

    def check_end(self, name: str, folder: Path) -> None:
        """All results are there with the right bits, and nothing else."""
        self.check_whole_or_not_there(name, folder)
        left = sorted(p.name for p in folder.iterdir())
        if left != sorted(JOBS[name].results):
            raise Failed(f"the folder holds {left}")


def digest_of_files_named(base: Path) -> str:
    """A digest of the inputs."""
    found = hashlib.sha256()
    for name in ("in.npy", "other.npy", "mask.npy", "bank.scsc"):
        found.update((base / name).read_bytes())
    return found.hexdigest() + digest_of_files(base / "in.zarr")


def kill(rounds: Rounds, name: str, folder: Path, rng: random.Random) -> str:
    """SIGKILL, one to three times."""
    return _signal(rounds, name, folder, rng, [signal.SIGKILL])


def send_signal(rounds: Rounds, name: str, folder: Path, rng: random.Random) -> str:
    """SIGTERM, SIGHUP, or SIGINT once or twice."""
    return _signal(rounds, name, folder, rng, [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])


def _signal(
    rounds: Rounds, name: str, folder: Path, rng: random.Random, kinds: Sequence[signal.Signals]
) -> str:
    times = rng.choice([1, 1, 2, 3])
    told = []
    for i in range(times):
        command = JOBS[name].command(*(["--resume"] if i else []))
        delay = rng.uniform(0, 1.1) * rounds.seconds[name]
        kind = rng.choice(list(kinds))
        is_twice = kind == signal.SIGINT and rng.random() < 0.3
        started = time.monotonic()
        pid = rounds.begin(command, folder)
        ended = wait(pid, rounds.log, started, started + delay)
        if ended is None:
            os.kill(pid, kind)
            if is_twice:
                time.sleep(rng.uniform(0, 0.3))
                os.kill(pid, kind)
            ended = wait(pid, rounds.log, started)
        assert ended is not None
        if ended.code is None:
            raise Failed(f"stuck after {kind.name}: {ended.said[-2000:]}")
        # At the second Ctrl-C it ends at once, without a word.
        if ended.code not in (-kind, 0) and not (is_twice and ended.code == INTERRUPTED):
            rounds.check_word(ended)
        told.append("done" if ended.code == 0 else kind.name)
        rounds.check_whole_or_not_there(name, folder)
    rounds.finish(name, folder)
    return " ".join(told)


def fill_disk(rounds: Rounds, name: str, folder: Path, rng: random.Random) -> str:
    """A disk that is too small, or a limit of the size of files."""
    if rng.random() < 0.5 or not mount(folder, size=rng.randrange(4, 160)):
        n_bytes = rng.randrange(2000, 60_000)  # less would cut off what the process says, too
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        ended = rounds.run(
            JOBS[name].command(),
            folder,
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard)),
        )
    else:
        ended = rounds.run(JOBS[name].command(), folder)
        remount(folder, "size=64m")
    if ended.code == 0:
        rounds.check_end(name, folder)
        return "enough room"
    rounds.check_word(ended)
    rounds.check_whole_or_not_there(name, folder)
    rounds.finish(name, folder)
    return "full"


def lock_disk(rounds: Rounds, name: str, folder: Path, rng: random.Random) -> str:
    """A disk that can no longer be written to."""
    if not mount(folder, size=64 << 10):
        return "not root"
    started = time.monotonic()
    pid = rounds.begin(JOBS[name].command(), folder)
    ended = wait(pid, rounds.log, started, started + rng.uniform(0, 1) * rounds.seconds[name])
    if ended is None:
        while not remount(folder, "ro") and ended is None:  # busy, while a file is being written
            ended = wait(pid, rounds.log, started, time.monotonic() + 0.003)
        ended = ended or wait(pid, rounds.log, started)
        remount(folder, "rw")
    assert ended is not None
    rounds.check_word(ended)
    rounds.check_whole_or_not_there(name, folder)
    rounds.finish(name, folder)
    return "read only" if ended.code else "done"


def lose_input(rounds: Rounds, name: str, folder: Path, rng: random.Random) -> str:
    """An input that goes, is cut off or gets other values, and comes back."""
    kept = folder.with_name(f"{folder.name}-kept")
    job = JOBS[name]
    source = rounds.base / Path(job.arguments[1]).name
    victim = source
    if source.is_dir() and rng.random() < 0.7:
        victim = rng.choice([p for p in source.rglob("*") if p.is_file()])
    started = time.monotonic()
    pid = rounds.begin(job.command(), folder)
    ended = wait(pid, rounds.log, started, started + rng.uniform(0, 1) * rounds.seconds[name])
    how = rng.choice(["gone", "cut", "other"]) if victim.is_file() else "gone"
    os.rename(victim, kept)
    try:
        if how != "gone":
            data = bytearray(kept.read_bytes())
            if how == "cut":
                del data[rng.randrange(len(data)) :]
            else:
                for _ in range(20):
                    data[-1 - rng.randrange(max(1, len(data) - 128))] ^= 0x10
            victim.write_bytes(data)
        ended = ended or wait(pid, rounds.log, started)
        assert ended is not None
    finally:
        if victim.exists():
            victim.unlink()
        os.rename(kept, victim)
    rounds.check_word(ended)
    if ended.code == 0 and how == "gone" and "are not there" in ended.said:
        shutil.rmtree(folder)  # a chunk went before the first look: the format allows it
        folder.mkdir()
        rounds.finish(name, folder)
        return "gone before the start, told"
    if ended.code == 0 and how != "gone":
        # It may have changed before the first look at it: then a run on what it is now agrees.
        other = [rounds.digest(folder / r) != rounds.expected[name, r] for r in job.results]
        if any(other):
            expected = rounds.other_bits(name, victim, bytes(data))
            found = [rounds.digest(folder / r) for r in job.results]
            if found != expected:
                raise Failed(f"a result of two images: {ended.said}")
            shutil.rmtree(folder)
            folder.mkdir()
            rounds.finish(name, folder)
            return f"{how} before the start"
    rounds.check_whole_or_not_there(name, folder)
    again = rounds.run(job.command("--resume"), folder)
    if again.code != 0:  # its parts are of the changed input: it says so, and begins anew
        rounds.check_word(again, "changed", "other", "differ", "another")
        shutil.rmtree(folder)
        folder.mkdir()
        rounds.finish(name, folder)
        return f"{how}, begun again"
    rounds.check_end(name, folder)
    return f"{how}, {'told' if ended.code else 'done'}"


# With these, glibc and OpenBLAS end the process themselves.
_WORDS_OF_LIBRARIES = (
    "cannot allocate memory for thread-local data",
    "OpenBLAS error: Memory allocation still failed",
)


def limit_memory(rounds: Rounds, name: str, folder: Path, rng: random.Random) -> str:
    """A limit of the address space, a little above what the process has at its start."""
    more = int(rng.uniform(1, 400) * (1 << 20))

    def limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        total = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (total, resource.RLIM_INFINITY))

    ended = rounds.run(JOBS[name].command(), folder, limit)
    if not any(words in ended.said for words in _WORDS_OF_LIBRARIES):
        rounds.check_word(ended)
    rounds.check_whole_or_not_there(name, folder)
    rounds.finish(name, folder)
    return "too little" if ended.code else "enough"


FAULTS = {
    "kills": kill,
    "signals": send_signal,
    "full": fill_disk,
    "read-only": lock_disk,
    "inputs": lose_input,
    "memory": limit_memory,
}


# --- disks ----------------------------------------------------------------------------------------


def mount(folder: Path, size: int) -> bool:
    """Mount an empty disk of so many kB; False where this process may not."""
    if os.geteuid() != 0 or sys.platform != "linux":
        return False
    options = f"size={size}k"
    return _mount("-t", "tmpfs", "-o", options, "faults", str(folder))


def remount(folder: Path, option: str) -> bool:
    """Change how a disk is mounted; False if it is busy."""
    return _mount("-o", f"remount,{option}", str(folder))


def _mount(*arguments: str) -> bool:
    done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    return done.returncode == 0


def unmount(folder: Path) -> None:
    """Take a disk away, if one is there."""
    if os.path.ismount(folder):
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


# --- the program ----------------------------------------------------------------------------------


def main() -> int:
    """Run rounds; 1 if any of them ended in a third thing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=FAULTS)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", nargs="*", default=list(JOBS), choices=JOBS)
    parser.add_argument("--log", help="a line is added for each round")
    given = parser.parse_args()
    shrink_blocks()
    rounds = Rounds(given.kind, given.seed, given.jobs)
    failures, counts = [], Counter[str]()
    for number in range(given.first, given.first + given.rounds):
        try:
            how = rounds.round(number)
        except Failed as error:
            failures.append(str(error))
            how = "FAILED"
            print(error, flush=True)
        counts[how.partition(": ")[2] or how] += 1
        if given.log:
            with open(given.log, "a") as log:
                facts = {"kind": given.kind, "seed": given.seed, "round": number, "how": how}
                log.write(json.dumps(facts) + "\n")
    told = ", ".join(f"{count} x {how}" for how, count in sorted(counts.items()))
    print(
        f"{given.kind}, seed {given.seed}: {given.rounds} rounds, {len(failures)} failed ({told})"
    )
    if not failures:
        shutil.rmtree(rounds.base, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
