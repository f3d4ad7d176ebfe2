"""Every element and attribute of MJCF, and what becomes of it; a test compares the list with MuJoCo's own schema.

MuJoCo's compiler turns most of them into numbers of its model, which `mjcf` reads. What is nowhere in these tables, as
an attribute of a later version, goes to the report as not handled: nothing can be forgotten without a line there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chasles.io.markup import Element
from chasles.io.report import ImportReport

# USED: by the compiler or here. SAID: not simulated as in the file, with a line of its own where it matters (contact,
# limits, tendons, ...). STILL: the motion does not feel it. MISSING: said if it is there and not at its default.
USED, SAID, STILL, MISSING = "used", "said", "still", "missing"

_PLACE = "pos quat axisangle xyaxes zaxis euler"
_CONTACT = "contype conaffinity condim priority friction solmix solref solimp margin gap adhesion surfacevel"
# elements of which everything, with all that is in them, has one fate
WHOLE = {
    **dict.fromkeys(("sensor", "visual", "statistic", "size", "keyframe", "custom", "compiler.lengthrange"), STILL),
    **dict.fromkeys(("tendon", "extension", "deformable", "contact"), SAID),
    **dict.fromkeys(("asset.texture", "asset.material", "asset.skin", "asset.hfield"), STILL),
    **dict.fromkeys(("body.camera", "body.light"), STILL),
    **dict.fromkeys(("body.plugin", "body.geom.plugin", "body.flexcomp", "asset.mesh.plugin", "actuator.plugin"), SAID),
    **dict.fromkeys(("body.attach", "body.composite", "asset.model", "include"), USED),
    **dict.fromkeys(("equality.tendon", "equality.flex", "equality.flexvert", "equality.flexstrain"), SAID),
    **dict.fromkeys(("default.pair", "default.tendon"), SAID),
    **dict.fromkeys(("default.camera", "default.light", "default.texture", "default.material"), STILL),
}
_EQUALITY = {USED: "active name class", SAID: "solref solimp"}
_ACTUATOR = {
    USED: "name class group joint ctrllimited ctrlrange forcelimited forcerange gear gaintype gainprm inheritrange",
    SAID: (
        "jointinparent tendon site refsite body cranksite slidersite cranklength dyntype dynprm biastype biasprm "
        "actdim actlimited actrange actearly damping armature delay nsample interp input kp kv ki dampratio timeconst "
        "area diameter bias force scale range lmin lmax vmax fpmax fvmax tausmooth gain imax slewmax posrange velrange "
        "ffrange motorconst resistance nominal saturation inductance cogging controller thermal lugre"
    ),
    STILL: "user lengthrange",
}
ATTRIBUTES = {
    "": {STILL: "model"},
    "compiler": {
        USED: (
            "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict coordinate eulerseq "
            "fusestatic inertiafromgeom inertiagrouprange meshdir settotalmass strippath"
        ),
        STILL: (
            "discardvisual fitaabb passthrough savecanonical savecompiled saveinertial texturedir usethread convexhull "
            "exactmeshinertia"
        ),
    },
    "option": {
        USED: "gravity actuatorgroupdisable",
        SAID: (  # solver settings, fluid forces, contact
            "timestep integrator solver iterations tolerance ls_iterations ls_tolerance noslip_iterations "
            "noslip_tolerance ccd_iterations ccd_tolerance mpr_iterations mpr_tolerance jacobian cone impratio apirate "
            "sdf_initpoints sdf_iterations density viscosity wind o_friction o_margin o_solimp o_solref"
        ),
        STILL: "magnetic sleep_tolerance",
    },
    "option.flag": {
        USED: "actuation clampctrl constraint damper equality frictionloss gravity limit spring passive contact",
        SAID: "filterparent override multiccd nativeccd midphase speculative ipc refsafe",  # contact, soft constraints
        STILL: "autoreset diagexact energy eulerdamp fwdinv invdiscrete island sensor warmstart",
        MISSING: "sleep",
    },
    "default": {USED: "class"},
    "asset": {},
    "asset.mesh": {
        USED: "name class file content_type vertex face scale refpos refquat inertia maxhullvert builtin params",
        STILL: "material normal texcoord smoothnormal",
    },
    "body": {
        USED: f"name childclass {_PLACE} fuse",
        SAID: "gravcomp mocap",
        STILL: "user simple",
        MISSING: "sleep",
    },
    "body.frame": {USED: f"name childclass {_PLACE}"},
    "body.replicate": {USED: "count offset euler sep prefix childclass"},
    "body.inertial": {USED: f"{_PLACE} mass diaginertia fullinertia"},
    "body.joint": {
        USED: "name class type pos axis ref springref springdamper stiffness damping armature frictionloss",
        SAID: (
            "limited range margin solreflimit solimplimit solreffriction solimpfriction actuatorfrclimited "
            "actuatorfrcrange actuatorgravcomp springyield"
        ),
        STILL: "group user",
    },
    "body.freejoint": {USED: "name align", STILL: "group"},
    "body.geom": {
        USED: f"name class type size fromto {_PLACE} mass density shellinertia mesh fitscale group rgba material",
        SAID: f"{_CONTACT} fluidshape fluidcoef hfield",
        STILL: "user castshadow",
    },
    "body.site": {USED: f"name class {_PLACE} fromto", STILL: "type size group material rgba user mesh"},
    "equality": {},
    "equality.connect": _EQUALITY | {USED: "active name class body1 body2 site1 site2 anchor"},
    "equality.weld": _EQUALITY | {USED: "active name class body1 body2 site1 site2 anchor relpose torquescale"},
    "equality.joint": _EQUALITY | {USED: "active name class joint1 joint2 polycoef"},
    "actuator": {},
    "actuator.*": _ACTUATOR,
}
# what the defaults of a class are for
DEFAULTS = {
    "default.mesh": "asset.mesh",
    "default.joint": "body.joint",
    "default.geom": "body.geom",
    "default.site": "body.site",
    "default.equality": "equality.connect",
}
AT_DEFAULT = {("option.flag", "sleep"): "disable", ("body", "sleep"): "auto"}
WHY_MISSING = {"sleep": "no body falls asleep here"}
_BODIES = ("body", "worldbody", "frame", "replicate")


def place_of(parent: str, tag: str) -> str:
    """The entry of the tables for an element in another one; bodies may be within each other, and so may defaults."""
    if tag == "include" or (parent == "default" and tag == "default"):
        return tag
    if parent in ("body", "body.frame", "body.replicate"):
        parent = "body"
        if tag == "body":
            return tag
    elif not parent:
        return "body" if tag in ("worldbody", "body") else tag
    place = f"{parent}.{tag}"
    if place in DEFAULTS:
        return DEFAULTS[place]
    if parent == "default" and place not in WHOLE:
        return "actuator.*"
    return "actuator.*" if parent == "actuator" and place not in WHOLE else place


def fate(place: str, attribute: str) -> str:
    """What becomes of an attribute; empty if it is not known here."""
    parts = place.split(".")
    for count in range(1, len(parts) + 1):
        if (whole := WHOLE.get(".".join(parts[:count]))) is not None:
            return whole
    entry = ATTRIBUTES.get(place, {})
    return next((name for name, attributes in entry.items() if attribute in attributes.split()), "")


def known(place: str) -> bool:
    """Whether an element is known here."""
    parts = place.split(".")
    return place in ATTRIBUTES or any(".".join(parts[:count]) in WHOLE for count in range(1, len(parts) + 1))


def report_attributes(tops: list[Element], folder: Path, report: ImportReport) -> None:
    """A line for every element and attribute that is not handled, in a file and all that it includes."""
    included = {top.file: top for top in tops[1:]}
    for top in tops:
        if top is not tops[0] and top.file not in included:
            continue  # seen where it is included
        included.pop(top.file, None)
        for place, element in _places(top, folder, included):
            _report_element(place, element, report)


def _places(top: Element, folder: Path, included: dict[str, Element]) -> Iterator[tuple[str, Element]]:
    """The elements of a file with their places; those of an included file stand where it is included."""
    stack = [("", top)]

    def put(place: str, child: Element) -> None:
        other = None
        if child.tag == "include":
            other = included.pop(str((folder / child.attributes.get("file", "")).resolve()), None)
        if other is None:
            stack.append((place_of(place, child.tag), child))
        for further in () if other is None else other.children:
            put(place, further)

    while stack:
        place, element = stack.pop()
        yield place, element
        for child in element.children:
            put(place, child)


def _report_element(place: str, element: Element, report: ImportReport) -> None:
    owner = element.attributes.get("name", "")
    if not known(place):
        report.ignored(f"<{element.tag}>", owner, "not known here", moves=True)
        return
    for key, value in element.attributes.items():
        found = fate(place, key)
        if found == MISSING and value.strip() != AT_DEFAULT[place, key]:
            report.ignored(f"<{element.tag}> {key}", owner, WHY_MISSING[key], moves=True)
        elif not found and not key.startswith("xmlns"):
            report.ignored(f"<{element.tag}> {key}", owner, "not known here", moves=True)
