"""chasles: the dynamics of mechanisms on Lie groups. "Every rigid-body motion is a screw."

Importing the package loads nothing heavy; modules are loaded, and their functions compiled, on first use. The public
names are listed in `__init__.pyi`; the rest lives one level down, as in `chasles.integrate` and `chasles.lie`.
"""

from chasles.lazy import attach as _attach
from chasles.registry import provide as _provide

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = _attach(__name__, __file__)

_provide(  # what objects of a low layer ask of higher ones: see `chasles.registry`
    {
        "undisturbed": "chasles.kernel.undisturbed:Undisturbed",
        "length": "chasles.io.units:length",
        "model file": "chasles.gallery:find_model",
        "compile joints": "chasles.relative.loop.closed:compiled",
        "compile bodies": "chasles.absolute.mechanism:AbsoluteMechanism",
        "assembly modes": "chasles.simulation.start.assembly_modes:assembly_modes",
        "mobility": "chasles.simulation.mobility:mobility",
        "certificate": "chasles.certificate.judge:certificate_of",
        "recorder": "chasles.io.result.writer:ResultWriter.start",
        "save": "chasles.io.result.save:save_run",
        "export": "chasles.io.result.export:export",
        "pandas": "chasles.io.result.export:to_pandas",
        "xarray": "chasles.io.result.export:to_xarray",
        "preview": "chasles.view.page_data:look_text",
        "hull": "chasles.view.page_data:hull_of",
        "plot": "chasles.view.plot:plot",
        "plot modes": "chasles.view.plot_modes:plot_modes",
        "plot branch": "chasles.view.plot_branch:plot_branch",
        "picture": "chasles.view.picture:picture",
        "animate": "chasles.view.animation:animate",
        "save page": "chasles.view.page:save_page",
        "show": "chasles.view.page:show",
        "report": "chasles.view.report:report",
    }
)
