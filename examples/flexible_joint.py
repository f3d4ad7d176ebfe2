"""An arm with elastic joints on a path: feedforward with the rates of inverse dynamics, and as if they were rigid.

Between each motor and its link there is a spring: K (θ - q) = τ(q, v, a) drives the link, and the motor needs the
torque B θ'' + τ. For the link to be on its path q(t), the motor must be at θ = q + τ/K, so θ'' = a + τ''/K: the second
time derivative of inverse dynamics, mueller2018 section 6.3.
"""

import argparse

import numpy as np

import chasles as ch

AXES = [(0, 0, 1), (0, 1, 0), (0, 1, 0)]
STIFFNESS, ROTOR = 400.0, 0.15  # N m/rad, kg m²
GAINS = 40.0, 4.0  # of the motors' positions and velocities: N m/rad, N m s/rad
FREQUENCY, SWING = 4.0, np.array([0.6, 0.4, -0.5])


def system(elastic: bool) -> ch.System:
    """Three links; elastic: with a rotor before each, whose spring the link turns against."""
    rod = [ch.shapes.Cylinder(0.05, 0.4, pose=(1, 0, 0, 0, 0, 0, 0.2))]
    bodies, joints, before = [], [], "ground"
    for k, axis in enumerate(AXES):
        place = (0, 0, 0.4 if k else 0.0)
        if elastic:
            bodies.append(ch.Body(f"rotor {k}"))
            joints.append(ch.revolute(f"motor {k}", before, f"rotor {k}", axis=axis, at=place, armature=ROTOR))
            before, place = f"rotor {k}", (0, 0, 0)
        bodies.append(ch.Body(f"link {k}", shapes=rod, density=1500.0))
        stiffness = STIFFNESS if elastic else 0.0
        joints.append(ch.revolute(f"joint {k}", before, f"link {k}", axis=axis, at=place, stiffness=stiffness))
        before = f"link {k}"
    motors = [ch.Actuator(f"drive {k}", f"motor {k}") for k in range(len(AXES))] if elastic else []
    return ch.System(bodies, joints, [ch.Frame("tool", before, (0, 0, 0.4))], actuators=motors, name="elastic arm")


def path(t: float) -> list[np.ndarray]:
    """q and its first four derivatives."""
    phase, start = FREQUENCY * t, np.array([0.0, 0.5, 0.8])
    slopes = [-np.sin(phase), -np.cos(phase), np.sin(phase), np.cos(phase)]
    return [start + SWING * np.cos(phase), *(SWING * FREQUENCY ** (k + 1) * x for k, x in enumerate(slopes))]


def wanted(arm: ch.Mechanism, t: float) -> np.ndarray:
    """Position and velocity of the motors and torque of the drives that keep the links on the path."""
    q, v, a, jerk, snap = path(t)
    tau, rate, second = arm.rates.inverse_dynamics(q, v, a, jerk, snap)
    return np.array([q + tau / STIFFNESS, v + rate / STIFFNESS, ROTOR * (a + second / STIFFNESS) + tau])


def as_if_rigid(arm: ch.Mechanism, t: float) -> np.ndarray:
    """The same for joints without springs."""
    q, v, a, _, _ = path(t)
    return np.array([q, v, ROTOR * a + arm.inverse_dynamics(q, v, a)])


def main(time: float) -> None:
    arm, robot = system(elastic=False).compile(), system(elastic=True).compile()
    theta, speed, _ = wanted(arm, 0.0)
    start = [np.column_stack([x, y - x]).ravel() for x, y in zip((theta, speed), path(0.0), strict=False)]
    for name, plan in (("as if rigid", as_if_rigid), ("with the springs", wanted)):

        def controller(t, q, v, plan=plan):
            position, velocity, torque = plan(arm, t)
            return torque + GAINS[0] * (position - q[::2]) + GAINS[1] * (velocity - v[::2])

        run = ch.simulate(robot, (0.0, time), *start, controller=controller, period=5e-4)
        places = arm.poses(np.array([path(t)[0] for t in run.t]), "tool")[:, 4:]
        off = np.linalg.norm(run["tool"].position - places, axis=1).max()
        print(f"feedforward {name}: the tool is off its path by at most {1e3 * off:.3f} mm")
    print(run.certificate)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=float, default=3.0, help="end of the simulation [s]")
    main(parser.parse_args().time)
