"""Put the comparison with MuJoCo's integrators into the documentation. Run: python -m tools.mujoco_tumbling"""

from pathlib import Path

import mujoco

from tests.transition.test_adapters import tumble

PAGE = Path(__file__).parents[1] / "docs" / "transition.md"
START, END = "<!-- table of MuJoCo: python -m tools.mujoco_tumbling -->", "<!-- end of the table -->"
STEP = 0.01
INTEGRATORS = {
    "MuJoCo, Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "MuJoCo, implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "MuJoCo, implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "MuJoCo, RK4": mujoco.mjtIntegrator.mjINT_RK4,
    '`RKMK("kutta3")`': "kutta3",
    '`RKMK("rk4")`': "rk4",
    '`RKMK("dopri5")`': "dopri5",
    '`RKMK("dop853")`': "dop853",
}


def main() -> None:
    rows = ["| | energy | angular momentum |", "|---|---:|---:|"]
    for name, integrator in INTEGRATORS.items():
        energy, momentum = tumble(mujoco, integrator, STEP)
        rows.append(f"| {name} | {energy:.1e} | {momentum:.1e} |")
    before, rest = PAGE.read_text().split(START)
    after = rest.split(END, 1)[1]
    PAGE.write_text(f"{before}{START}\n\n" + "\n".join(rows) + f"\n\n{END}{after}")


if __name__ == "__main__":
    main()
