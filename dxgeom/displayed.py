"""How things are shown: a line in a terminal, tables in a notebook, a picture when asked for.

What they look like is said in ``dxgeom.report.showing``, above everything that is shown; it is loaded by its name when
somebody looks, so that nothing here leads up.
"""

from __future__ import annotations

from abc import ABC
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWING: Final = "dxgeom.report.showing"


class Displayed(ABC):  # noqa: B024 - it says only how it is shown
    """Something that is shown in a line, printed as a screen, and shown as tables in notebooks."""

    def __repr__(self) -> str:
        return str(import_module(_SHOWING).brief(self))

    def __str__(self) -> str:
        return str(import_module(_SHOWING).screen_for(self))

    def _repr_html_(self) -> str:
        return str(import_module(_SHOWING).fragment_for(self))

    def in_full(self) -> Any:
        """All that there is to show, as a document: with ``lines()`` and ``html()``, and to be saved."""
        return import_module(_SHOWING).document_for(self)


class Pictured(Displayed, ABC):
    """Something that can be drawn, too."""

    def plot(self, *about: str, axes: Any = None) -> Axes:
        """Draw it, with matplotlib.

        Args: ``about``: nothing for the whole; of a policy an attribute, of a plan two queries, of a release some.
        ``axes``: to draw on; left out, those of a new figure.
        Returns: the axes.
        Raises: UnsupportedCombination where there is nothing to draw; MissingExtra without matplotlib.
        """
        found: Axes = import_module(_SHOWING).plotted(self, about, axes)
        return found
