"""What a file says of a run repeats it to the same bits, or it says what is missing: for every option of `simulate`."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.io.description import FUNCTIONS, OLD, study_of
from chasles.simulation.run_task import NOT_OF_THE_RUN
from chasles.view.model_of_run import repeated
from tests.io import result_models as models
from tests.simulation import work

LAWS = {"drag": models.drag, "slows": work.slows, "pulls": work.pulls}
ROUGH = [1.4, -1.3, 1.2]
Q = np.array([0.8, 0.0, 0.6, 0.0, 0.3])
STILL = {"step": 2e-3, "progress": False}
GIVEN = {"v": models.V, **STILL}
BODIES = {"coordinates": "absolute", **GIVEN}


def arm(**options):
    """A run of the arm with its laws and motor, through the actuator of gear 2."""
    return ch.simulate(work.arm(), options.pop("span", (0.0, 0.02)), **{**GIVEN, **options})


def linkage(compiled=None, **options):
    """A run of a loop, from rough coordinates."""
    system = work.linkage() if compiled is None else compiled(work.linkage())
    return ch.simulate(system, (0.0, 0.02), **{"q": ROUGH, "assemble": True, **STILL, **options})


def adaptive(**options):
    return arm(**{"step": None, **options})


def at(system, **more):
    """Poses and twists of the arm away from its neutral state, so that they are no round numbers."""
    tree = system.compile()
    return {"q": None, "v": None, "poses": tree.poses(Q), "twists": tree.twists(Q, models.V), **more}


OWN = ch.integrate.Tableau("own", 2, ((), (0.5,)), (0.0, 1.0))
# for each option of `simulate` runs that differ if it is forgotten, and a word of what must be missing, if anything
SAMPLES = {
    "span": [(lambda: arm(span=(0.3, 0.32)), "")],
    "q": [(lambda: arm(q=Q), ""), (lambda: arm(q=list(Q), **{**BODIES, "v": None}), "")],
    "v": [(lambda: arm(v=[0.1, 0.2, 0.3, -0.4]), ""), (lambda: arm(v=None), ""), (lambda: arm(v={"elbow": 0.7}), "")],
    "coordinates": [(lambda: arm(**BODIES), ""), (lambda: linkage(coordinates="absolute"), "")],
    "method": [
        (lambda: arm(method="cf4"), ""),
        (lambda: arm(method={"name": "rkmk", "tableau": "rk4", "dexpinv": 2}), ""),
        (lambda: arm(method=ch.integrate.GeneralizedAlpha(rho=0.7), **BODIES), ""),
        (lambda: arm(method=ch.integrate.RKMK(OWN)), ""),
        (lambda: arm(method=ch.integrate.RKMK(OWN, coordinates="cay")), ""),
    ],
    "step": [(lambda: arm(step=3e-3), "")],
    "rtol": [(lambda: adaptive(rtol=1e-5), "")],
    "atol": [(lambda: adaptive(atol=1e-4, rtol=0.0), "")],
    "max_step": [(lambda: adaptive(max_step=1e-3), "")],
    "stops": [(lambda: adaptive(stops=[0.0071, 0.013]), "")],
    "max_evaluations": [(lambda: adaptive(max_evaluations=40), "")],
    "save": [
        (lambda: arm(save="final"), ""),
        (lambda: arm(save=np.int64(3)), ""),
        (lambda: arm(save=np.array([0.0, 0.0033, 0.017])), ""),
    ],
    "every": [(lambda: arm(every=7e-3), "")],
    "events": [(lambda: arm(events=models.EVENTS), "the event 'turned'")],
    "controller": [(lambda: arm(controller=work.balance, period=0.01), "a controller, asked every 0.01 s")],
    "period": [(lambda: arm(controller=work.balance, period=0.005), "a controller, asked every 0.005 s")],
    "control": [
        (lambda: arm(control=[3.0]), ""),  # of a motor with gear 2
        (lambda: arm(control=np.array([3.0]), **BODIES), ""),
        (lambda: linkage(control=[0.1, 0.0, 0.2]), ""),
    ],
    "space": [
        (lambda: arm(space="SE3", **BODIES), ""),
        (lambda: arm(space={"upper": "SO3xR3", "lower": "SE3"}, **BODIES), ""),
    ],
    "stabilization": [
        *((lambda s=s: linkage(stabilization=s), "") for s in ("baumgarte", None)),
        *((lambda s=s: arm(stabilization=s, **BODIES), "") for s in ("baumgarte", None)),
    ],
    "baumgarte": [
        (lambda: linkage(stabilization="baumgarte", baumgarte=(7.0, 9.0)), ""),
        (lambda: arm(stabilization="baumgarte", baumgarte=[7.0, 9.0], **BODIES), ""),
    ],
    "poses": [(lambda: arm(**{**BODIES, **at(work.arm(), twists=None)}), "")],
    "twists": [(lambda: arm(**{**BODIES, **at(work.arm())}), "")],
    "assemble": [(lambda: linkage(coordinates="absolute", q=[1.41, -1.3, 1.2]), ""), (lambda: linkage(), "")],
    "mode": [(lambda: linkage(q={"A": 1.4}, v={"A": 2.0}, assemble=None, mode=2), "")],
    "held": [
        (lambda: linkage(held=["A"]), ""),
        (lambda: linkage(q={"A": 1.4, "B": -1.3}, v={"A": 2.0}, held={"q": ["A"], "v": ["A"]}), ""),
        (lambda: linkage(q={"A": 1.4}, v={"A": 2.0}, assemble=None), ""),
        (lambda: linkage(v={"A": 2.0}), ""),  # coordinates in an array, of which nothing is held
    ],
    "certificate": [(lambda: arm(certificate=False), "")],
    "trivialization": [(lambda: arm(trivialization="right", **BODIES), "")],
}
COMPILED = {
    "cut": (lambda: linkage(lambda s: s.compile(cut=["C"]), q=[1.4, -1.3, 1.9]), ""),
    "cut, in a word": (lambda: linkage(lambda s: s.compile(cut="C"), q=[1.4, -1.3, 1.9]), ""),
    "absolute": (lambda: linkage(lambda s: s.compile("absolute", space="SO3xR3")), ""),
    "fed back": (lambda: linkage(lambda s: s.compile("absolute", baumgarte=(5.0, 5.0))), "baumgarte=(5.0, 5.0)"),
    "fed back, and said": (
        lambda: linkage(
            lambda s: s.compile("absolute", baumgarte=(5.0, 5.0)), stabilization="baumgarte", baumgarte=(5.0, 5.0)
        ),
        "",
    ),
    "with inputs": (
        lambda: ch.simulate(work.arm().compile("absolute", inputs=True), (0.0, 0.02), **GIVEN),
        "inputs=True",
    ),
}
CASES = {
    **{f"{name} {k}": case for name, cases in SAMPLES.items() for k, case in enumerate(cases)},
    **{f"compiled: {name}": case for name, case in COMPILED.items()},
}


def test_no_option_is_forgotten():
    assert set(SAMPLES) == set(inspect.signature(ch.simulate).parameters) - set(NOT_OF_THE_RUN)


@pytest.mark.filterwarnings("ignore:solve:RuntimeWarning", "ignore:simulate:RuntimeWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.study] * (k % 6 > 0)) for k, name in enumerate(CASES)]
)
def test_what_is_written_repeats_to_the_same_bits_or_says_what_is_missing(name, tmp_path):
    simulate, wanted = CASES[name]
    run = simulate()
    text, missing = repeated(run)
    own = [item for item in missing if "the function of the law" not in item]
    assert len(own) == bool(wanted), own
    if wanted:
        assert wanted in own[0]
    if not wanted or "event" in wanted or "controller" in wanted:
        file = tmp_path / "model.toml"
        file.write_text(text, encoding="utf-8")
        functions = {key: run.task.given[key] for key in FUNCTIONS if run.task.given[key] not in (None, ())}
        again = ch.load(file, laws=LAWS).run(progress=False, **functions)
        np.testing.assert_array_equal(again.t, run.t)
        np.testing.assert_array_equal(again.solution.y, run.solution.y)
        assert again.message == run.message
        if name.endswith(" 0"):  # the first for each option: a verdict takes as long as its run
            assert again.certificate.status == run.certificate.status
        if name != "poses 0":  # a study gives twists, too
            assert repeated(again)[0] == text
    run.save(tmp_path / "run.h5", ())
    assert repeated(ch.open(tmp_path / "run.h5")) == (text, missing)


def test_an_option_that_no_file_knows_is_named():
    """As one that somebody adds to `simulate` tomorrow."""
    task = arm().task
    found = study_of(replace(task, given={**task.given, "wobble": 0.25}))[1]
    assert found == ["wobble=0.25"]
    assert study_of(replace(task, given={**task.given, "wobble": object()}))[1][0].startswith("wobble: ")
    assert study_of(replace(task, given=None))[1] == [OLD]


def test_the_runs_differ():
    """So that one with an option forgotten would be noticed."""
    usual = arm().solution.y
    for name in ("control 0", "stabilization 3", "baumgarte 1", "trivialization 0", "method 0", "q 0"):
        other = CASES[name][0]().solution.y
        assert other.shape != usual.shape or not np.array_equal(other, usual), name
