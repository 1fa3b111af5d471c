"""Install other programs beside napari, each in an environment of its own, and say its size.

    python scripts/peer_installs.py [--folder FOLDER] [name ...]

Without names, all of them: some 20 GB are loaded. A size is what the installed files take of the
disk, compiled byte code included, in units of 10^6 bytes; "more" is what napari alone has not.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAPARI = "napari[pyqt6]>=0.9"
ROOT = Path(__file__).parents[1]
PEERS = {
    "napari-scsc": [str(ROOT)],
    "scikit-image": ["scikit-image"],
    "bm3d": ["bm3d"],
    "bm4d": ["bm4d"],
    "opencv": ["opencv-python-headless"],
    "sporco": ["sporco"],
    "csbdeep": ["csbdeep"],
    "n2v": ["n2v", "tensorflow"],
    "napari-n2v": ["napari-n2v"],
    "careamics": ["careamics"],
    "careamics-napari": ["careamics-napari"],
    "aydin": ["aydin"],
}


def install(folder: Path, requirements: list[str]) -> tuple[int, str]:
    """Install into a new environment; return its size in MB and what stands in the way, if any."""
    environment = folder / "environment"
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [str(python), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "--upgrade", "pip"], check=True)
    done = subprocess.run(
        [*pip, "install", "--quiet", *requirements], capture_output=True, text=True, check=False
    )
    problem = done.stderr.strip().splitlines()[-1] if done.returncode else ""
    if not problem:
        checked = subprocess.run([*pip, "check"], capture_output=True, text=True, check=False)
        problem = checked.stdout.strip() if checked.returncode else ""
    (packages,) = environment.rglob("site-packages")
    size = sum(map(room_of, packages.rglob("*")))
    shutil.rmtree(environment)
    return round(size / 1e6), problem


def room_of(path: Path) -> int:
    """The bytes that a file or a folder takes of the disk, as du counts them."""
    found = path.lstat()
    return 512 * found.st_blocks if hasattr(found, "st_blocks") else found.st_size


def main() -> None:
    """Install what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(PEERS))
    parser.add_argument("--folder", type=Path, help="where the environments are made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        alone, problem = install(Path(folder), [NAPARI])
        print(f"napari: {alone} MB {problem}", flush=True)
        for name in arguments.names or PEERS:
            size, problem = install(Path(folder), [NAPARI, *PEERS[name]])
            said = f"does not install: {problem}" if problem else f"{size - alone} MB more"
            print(f"{name}: {said}", flush=True)


if __name__ == "__main__":
    main()
