"""`chasles plan`: a task file makes a plan, whose run other commands take."""

import numpy as np
import pytest

import chasles as ch
from chasles.io.plan_expression import Written
from chasles.io.plan_file import plan_task
from tests.commands import chasles

MODEL = """
name = "block"
gravity = [0, 0, 0]
[parameters]
way = "100 cm"
[[bodies]]
name = "block"
mass = 1.0
[[joints]]
name = "slide"
kind = "prismatic"
parent = "ground"
child = "block"
axis = [1, 0, 0]
"""
TASK = """
span = [0, "1000 ms"]
steps = 40
tolerance = 1e-11
[costs]
effort = 1
[[reach]]
q.slide = "way"
v.slide = 0
"""


def files(folder, task=TASK, model=MODEL):
    for name, text in (("model.toml", model), ("task.toml", task)):
        (folder / name).write_text(text)
    return folder / "model.toml", folder / "task.toml"


def test_a_plan_is_a_run_for_other_commands(tmp_path):
    """The block of tests/plan: ∫ u² dt is 12 N²/(N² - 1)."""
    result, picture = tmp_path / "plan.h5", tmp_path / "plan.png"
    said = chasles("plan", *map(str, (*files(tmp_path), "-o", result, "--picture", picture)))
    assert said.returncode == 0, said.stderr
    assert f"cost {12 * 1600 / 1599:.8g}" in said.stdout
    assert picture.stat().st_size > 1000
    run = ch.open(result)
    assert abs(run.q[-1, 0] - 1.0) < 1e-9
    assert np.allclose(run.given[1:, 0], -run.given[:0:-1, 0], atol=1e-7)  # of each step, and odd about the middle
    said = chasles("plan", str(tmp_path / "model.toml"), str(tmp_path / "task.toml"), "-o", "plan.txt")
    assert said.returncode == 2
    assert "expected a name that ends in .h5" in said.stderr


WRONG = {
    "key": (TASK.replace("steps", "stepz"), "task.toml:3: stepz: is unknown; did you mean 'steps'"),
    "span": (TASK.replace('span = [0, "1000 ms"]', ""), "has no span: start and end"),
    "unit": (TASK.replace("1000 ms", "1000 mm"), "task.toml:2: span: "),
    "cost": (TASK.replace("effort = 1", ""), r"has no costs; write \[costs\] with effort = 1"),
    "what": (TASK + "[[keep]]\nlow = 0\n", r"keep\[0\]: says not what it is about; expected one of frame, joint"),
    "both": (TASK + '[[keep]]\njoint = "slide"\nspeed = "slide"\n', r"keep\[0\]: has joint and speed; expected one"),
    "frame": (TASK + '[[reach]]\nframe = "block"\n', r"reach\[1\]: a frame needs a position or a pose"),
    "by": ('by = "magic"\n' + TASK, "by: is 'magic'; expected optimize, shoot, collocate"),
    "method": (
        'by = "collocate"\nmethod = "rk4"\n' + TASK,
        "method: is not for by = 'collocate'; .* take by = 'optimize'",
    ),
    "design": (
        TASK + "[parameters]\nwey = [0, 1]\n",
        "parameters.wey: is not a parameter .*; did you mean 'way'",
    ),
    "way": (TASK + "[parameters]\nway = [0, 1]\n", "parameters: is not for by = 'optimize'"),
    "actuator": (
        TASK + "[[keep]]\nquantity = \"u('slid')\"\nlow = 0\n",
        r"keep\[0\].quantity: .*u\('slid'\): did you mean 'slide'",
    ),
    "coordinate": (TASK + "[[keep]]\nquantity = \"q('slide', 1)\"\n", r"has 1 of them, counted from 0: q\('slide', 0"),
    "name": (TASK + "[[track]]\nquantity = 'wey + t'\n", r"track\[0\].quantity: .*'wey' is unknown here; did you mean"),
    "function": (TASK + "[[track]]\nquantity = 'eval(1)'\n", r"expected numbers, t, parameters, q\('joint'\)"),
    "count": (TASK + "[[track]]\nquantity = 'atan2(1)'\n", "atan2 takes 2 of them, here 1"),
    "bounds": (
        'by = "shoot"\n' + TASK + "[parameters]\nway = [1]\n",
        "parameters.way: has 1 numbers; expected",
    ),
    "list": (TASK + '[keep]\njoint = "slide"\n', r"keep: is not a list; write \[\[keep\]\]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_task(case, tmp_path):
    task, message = WRONG[case]
    model, file = files(tmp_path, task)
    with pytest.raises(ValueError, match=message):
        plan_task(file, ch.load(model))


def test_all_that_a_task_can_say(tmp_path):
    more = """
    [[track]]
    frame = "block"
    position = ["way", 0, 0]
    weight = [1, 2, 3]
    [[keep]]
    joint = "slide"
    low = "-5 cm"
    when = [0.25, 0.5]
    [[keep]]
    speed = "slide"
    high = "3000 mm/s"
    """
    model, file = files(tmp_path, "low = -20\nhigh = [20]\nduration = [0.5, 2]\nguess = [0.1]\n" + TASK + more)
    found = plan_task(file, ch.load(model))
    assert (found["low"], found["high"], found["duration"]) == (-20.0, (20.0,), (0.5, 2.0))
    assert [type(cost).__name__ for cost in found["costs"]] == ["EffortCost", "Wish"]
    reach, place, speed = found["limits"]
    assert reach.quantity.q == {"slide": 1.0}
    assert (float(place.low), place.when.tolist(), float(speed.high)) == (-0.05, [0.25, 0.5], 3.0)


def test_a_design_from_a_file(tmp_path):
    """∫ u² dt = 12 m² N²/(N² - 1): the lightest block is the best one."""
    model = MODEL.replace("mass = 1.0", 'mass = "load"').replace('way = "100 cm"', 'way = "100 cm"\nload = 2')
    task = TASK.replace("steps = 40", 'steps = 5\nby = "shoot"\nsolver = "scipy"').replace("1e-11", "1e-9")
    said = chasles("plan", *map(str, files(tmp_path, task + '[parameters]\nload = ["500 g", 3]\n', model)))
    assert said.returncode == 0, said.stderr
    assert f"cost {12 * 0.25 * 25 / 24:.8g}" in said.stdout
    assert " load = 0.5\n" in said.stdout


def test_expressions_of_inputs(tmp_path):
    """The power of the block, and a cost ∫ (u/2)² dt, as the same functions in Python give them."""
    task = TASK.replace("effort = 1", "").replace("steps = 40", "steps = 10").replace("1e-11", "1e-9")
    task += """
    [[track]]
    quantity = "u('slide') / sqrt(4 * way)"
    [[keep]]
    quantity = "u('slide') * v('slide')"
    low = "-4 W"
    high = 4
    """
    model, file = files(tmp_path, task)
    study = ch.load(model)
    found = ch.io.planned(file, study)
    power = ch.plan.quantity(lambda t, q, v, u: u * v)
    limits = [ch.plan.reach(ch.plan.state([1.0], [0.0])), ch.plan.keep(power, -4, 4)]
    wanted = ch.plan.optimize(study.system, (0, 1), 10, ch.plan.effort(0.25), limits=limits, tolerance=1e-9)
    assert abs(found.cost - wanted.cost) < 1e-7
    assert found.violations["u('slide') * v('slide') (always)"] < 1e-7


def test_functions_of_expressions(tmp_path):
    """Values and derivatives of all functions, against NumPy and differences; a parameter of a design is a variable."""
    model, _ = files(tmp_path)
    study, x = ch.load(model), np.array([[0.3], [0.7]])
    written, mechanism = Written(study.system, study.parameters), study.system.compile()
    one, other = "q('slide')", "(0.2 + v('slide'))"
    for text, wanted in (
        *((f"{name}({one})", getattr(np, name)) for name in ("sin", "cos", "tan", "exp", "log", "tanh", "sqrt")),
        *((f"a{name}({one})", getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan")),
        (f"abs(-{one} ** 2) + 0 * t", np.square),
        *((f"{name}({one}, {other})", of) for name, of in (("min", np.minimum), ("max", np.maximum))),
        *((f"{name}({one}, {other})", of) for name, of in (("hypot", np.hypot), ("atan2", np.arctan2))),
    ):
        v, tiny = np.array([[0.4], [0.2]]), 1e-6

        def value(q, v, wanted=wanted, two=other in text):
            return wanted(q, 0.2 + v) if two else wanted(q)

        found, slopes = written.quantity(text).numbers(mechanism, np.zeros(2), x, v)
        assert np.abs(found - value(x, v)).max() < 1e-14
        by_q = (value(x + tiny, v) - value(x - tiny, v)) / (2 * tiny)
        by_v = (value(x, v + tiny) - value(x, v - tiny)) / (2 * tiny)
        assert np.abs(slopes[:, 0] - np.concatenate([by_q, by_v], axis=1)).max() < 1e-8
    longer = written.quantity("way * u('slide') - pi").given({"way": 3.0})
    assert longer.driven
    assert abs(longer.numbers(mechanism, np.zeros(2), x, x, np.array([[2.0], [1.0]]))[0][0, 0] - 6 + np.pi) < 1e-14
