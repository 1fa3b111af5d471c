"""All systems of the paper's experiments, under the names that it gives them."""

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Method:
    """A system, imported when it is first called: some need packages that may be missing."""

    module: str
    function: str
    reference: str
    is_online: bool = False

    def __call__(self, task):
        """Learn; see ``base.System``."""
        module = import_module(f"{__name__}.{self.module}")
        return getattr(module, self.function)(task)


_SCSC = "Wang, Yao, Kwok and Ni, 2018: sample-dependent dictionary"
_OCSC = "Wang, Yao, Kwok and Ni, 2018: scalable online"

SYSTEMS = {
    "SCSC": Method("engine", "scsc", _SCSC, is_online=True),
    "SCSC-L1": Method("engine", "scsc_l1", _SCSC, is_online=True),
    "SCSC (shared)": Method("engine", "scsc_shared", _SCSC, is_online=True),
    "SCSC (ADMM code)": Method("engine", "scsc_by_admm", _SCSC, is_online=True),
    "OCSC": Method("engine", "ocsc", _OCSC, is_online=True),
    "OCSC fine-tuned": Method("engine", "ocsc_fine_tuned", _OCSC, is_online=True),
    "SEP-TD": Method("sep_td", "learn", "Sironi et al., 2015", is_online=True),
    "SEP-TD, rescaled": Method(
        "sep_td",
        "learn_rescaled",
        "Sironi et al., 2015, and filters of unit length",
        is_online=True,
    ),
    "OCDL-Liu": Method("sporco_systems", "ocdl_liu", "Liu et al., 2018", is_online=True),
    "OCDL-Degraux": Method("degraux", "learn", "Degraux et al., 2017", is_online=True),
    "CBPDN": Method("sporco_systems", "cbpdn", "Wohlberg, 2016"),
    "CONSENSUS": Method("sporco_systems", "consensus", "Šorel and Šroubek, 2016"),
    "SBCSC": Method("sbcsc", "learn", "Papyan et al., 2017"),
    "FFCSC": Method("ffcsc", "learn", "Heide et al., 2015"),
    "FCSC": Method("fcsc", "learn", "Bristow et al., 2013"),
    "DeconvNet": Method("deconvnet", "learn", "Zeiler et al., 2010"),
    "CCSC": Method("ccsc", "learn", "Choudhury et al., 2017"),
}

_NOTHING = "random filters, nothing learned"

STARTS = {
    "no learning (SCSC)": Method("engine", "scsc_start", _NOTHING),
    "no learning (shared)": Method("engine", "shared_start", _NOTHING),
}
"""No systems, but what they begin with: who is not better than these has learned nothing."""

EVERY = SYSTEMS | STARTS
