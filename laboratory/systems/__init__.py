"""All systems of the paper's experiments, under the names that it gives them."""

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class SystemEntry:
    """A system, imported when it is first called: some need packages that may be missing."""

    module: str
    function: str
    reference: str
    is_online: bool = False

    def __call__(self, task):
        """Learn; see ``interface.System``."""
        module = import_module(f"{__name__}.{self.module}")
        return getattr(module, self.function)(task)


_SCSC = "Wang, Yao, Kwok and Ni, 2018: sample-dependent dictionary"
_OCSC = "Wang, Yao, Kwok and Ni, 2018: scalable online"

SYSTEMS = {
    "SCSC": SystemEntry("scsc_and_ocsc", "scsc", _SCSC, is_online=True),
    "SCSC orthonormal": SystemEntry(
        "scsc_and_ocsc", "scsc_orthonormal", f"{_SCSC}, orthonormal base filters", is_online=True
    ),
    "SCSC-L1": SystemEntry("scsc_and_ocsc", "scsc_l1", _SCSC, is_online=True),
    "SCSC (shared)": SystemEntry("scsc_and_ocsc", "scsc_shared", _SCSC, is_online=True),
    "SCSC orthonormal (shared)": SystemEntry(
        "scsc_and_ocsc", "scsc_orthonormal_shared", _SCSC, is_online=True
    ),
    "SCSC (ADMM code)": SystemEntry("scsc_and_ocsc", "scsc_by_admm", _SCSC, is_online=True),
    "OCSC": SystemEntry("scsc_and_ocsc", "ocsc", _OCSC, is_online=True),
    "OCSC fine-tuned": SystemEntry("scsc_and_ocsc", "ocsc_fine_tuned", _OCSC, is_online=True),
    "SEP-TD": SystemEntry("sep_td", "learn", "Sironi et al., 2015", is_online=True),
    "SEP-TD, rescaled": SystemEntry(
        "sep_td",
        "learn_rescaled",
        "Sironi et al., 2015, and filters of unit length",
        is_online=True,
    ),
    "OCDL-Liu": SystemEntry("sporco_systems", "ocdl_liu", "Liu et al., 2018", is_online=True),
    "OCDL-Degraux": SystemEntry("degraux", "learn", "Degraux et al., 2017", is_online=True),
    "CBPDN": SystemEntry("sporco_systems", "cbpdn", "Wohlberg, 2016"),
    "CONSENSUS": SystemEntry("sporco_systems", "consensus", "Šorel and Šroubek, 2016"),
    "SBCSC": SystemEntry("sbcsc", "learn", "Papyan et al., 2017"),
    "FFCSC": SystemEntry("ffcsc", "learn", "Heide et al., 2015"),
    "FCSC": SystemEntry("fcsc", "learn", "Bristow et al., 2013"),
    "DeconvNet": SystemEntry("deconvnet", "learn", "Zeiler et al., 2010"),
    "CCSC": SystemEntry("ccsc", "learn", "Choudhury et al., 2017"),
}

_UNTRAINED = "random filters, nothing learned"

UNTRAINED = {
    "no learning (SCSC)": SystemEntry("scsc_and_ocsc", "scsc_start", _UNTRAINED),
    "no learning (SCSC orthonormal)": SystemEntry(
        "scsc_and_ocsc", "scsc_orthonormal_start", _UNTRAINED
    ),
    "no learning (shared)": SystemEntry("scsc_and_ocsc", "shared_start", _UNTRAINED),
}
"""What the systems begin with: one that is not better than these has learned nothing."""

ALL_SYSTEMS = SYSTEMS | UNTRAINED
ONLINE_SYSTEMS = tuple(name for name, system in SYSTEMS.items() if system.is_online)
BATCH_SYSTEMS = tuple(name for name in SYSTEMS if name not in ONLINE_SYSTEMS)
