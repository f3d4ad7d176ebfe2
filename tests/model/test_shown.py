"""What people see: summaries in print and in notebooks, and names that were nearly right."""

import pytest

import chasles as ch
from chasles.integrate.method_name import method_from
from chasles.model.suggestion import meant

ROD = {"mass": 1.0, "com": (0, 0, -0.2), "inertia": (0.01, 0.01, 0.001)}
ARM = ch.System(
    [ch.Body("upper", **ROD), ch.Body("lower", **ROD), ch.Body("moon", **ROD)],
    [
        ch.spherical("shoulder", "ground", "upper"),
        ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.4)),
    ],
    [ch.Frame("hand", "lower", (0, 0, -0.4))],
    [ch.Spring("band", ("ground", "lower"), stiffness=3.0)],
    [ch.Actuator("motor", "elbow")],
    [ch.Distance("link", ("upper", "moon"), length=1.0)],
    name="<arm>",
)
TEXT = """\
<arm>: 3 bodies, 2 joints, 1 constraint, 3 kg, gravity (0, 0, -9.81) m/s²
  upper  1 kg  shoulder (spherical)  on ground
  lower  1 kg  elbow (revolute)      on upper
  moon   1 kg  moves freely
  frames: hand (on lower)
  forces: band (spring on ground and lower)
  actuators: motor (actuator on elbow)
  constraints: link (distance on upper and moon)"""


def test_a_system_in_print():
    assert str(ARM) == TEXT
    assert repr(ARM) == "<System '<arm>': 3 bodies, 2 joints, 3 kg>"


def test_notebooks():
    for shown in (ARM, ARM.compile(), ARM.compile("absolute")):
        page = shown._repr_html_()
        assert "&lt;arm&gt;" in page
        assert "<arm>" not in page
        assert page.count("<tr>") == page.count("</tr>") >= 3
    assert "shoulder" in ARM.compile()._repr_html_()
    many = ch.System([ch.Body(f"b{k}", **ROD) for k in range(100)])
    assert "... and 60 more" in many._repr_html_()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ARM.joint("elbo"), "did you mean 'elbow'"),
        (lambda: ARM.body("Upper"), "did you mean 'upper'"),
        (lambda: ARM.frame("hnad"), "did you mean 'hand'"),
        (lambda: ARM.joint("xyz"), "there is no joint 'xyz'; joints: shoulder, elbow"),
        (lambda: method_from("dopri"), "did you mean 'dopri5'"),
        (lambda: method_from({"name": "generalzed_alpha"}), "did you mean 'generalized_alpha'"),
        (lambda: ch.integrate.RKMK("rk_4").order, "did you mean 'rk4'"),
        (lambda: ch.integrate.CommutatorFree("cf5"), "did you mean 'cf"),
        (lambda: ch.model.Joint("j", "ground", "upper", "revolut"), "did you mean 'revolute'"),
        (lambda: ARM.compile("absolute", space={"lover": "SE3"}), "did you mean 'lower'"),
    ],
)
def test_did_you_mean(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_meant_is_quick_and_careful():
    assert meant("elbo", ["shoulder", "elbow"]) == "did you mean 'elbow'? "
    assert meant("nothing", ["shoulder", "elbow"]) == ""
    assert meant(3, ["elbow"]) == meant("x" * 10_000, ["x" * 10_001]) == meant("elbo", []) == ""
