"""Methods for constrained systems in absolute coordinates: generalized alpha, BLieDF, RATTLE, half-explicit
Runge-Kutta, energy-momentum, Radau IIA. The map of this package:

A method is one file, `generalized_alpha`, `bliedf`, `rattle`, `half_explicit`, `energy_momentum` or `radau`. It has
memory (`STATE`: what is carried from step to step, `VECTORS`: its workspace), formulas, the step (`advance`, which
calls Newton's loop with `correct`), the compiled loop, the start, the rule for the step, and the `SCHEME` that names
all of them. Two long parts of generalized alpha have files of their own: `alpha_formulas` and `alpha_estimate`.
`schemes` lists the schemes, `scheme` says what one consists of. What the user gives, coefficients and tolerances, are
the classes of `integrate.constrained_method`. A new method touches nothing else here (`docs/architecture.md` counts).

    run             a run with fixed steps: arrays, `take`, what failed
    lane_run        up to four such runs at once on lanes, of generalized alpha (`alpha_lanes`)
    step_control    a run whose steps follow the estimated error; `error_estimate` measures it; `reversible`: steps of
                    RATTLE; `backward`: coefficients of BLieDF
    start           consistent values at the start; `index1`: the same equations as a vector field
    workspace       what all methods share: declared memory, the call of a loop; `tables`, `structure`: elimination
    operations      large parts of a step that methods share, compiled once and called through their addresses
    call_types      types of what loops and operations are called with
    steps           the loop over steps (`take_steps`), clock, forces, counted angles
    newton          Newton's loop (`iterate`); `integrate.stopping`: when it ends; `goals`: what is small
    correction      one correction of the equations of motion and constraints; `chart`: steps on the groups
      saddle        the linear equations K d + Rᵀ μ = f, L d = g; `tile_lu`: their factors, on 3x3 tiles
      body_tangent, joint_tangent, force_tangent, velocity_rows      derivatives for Newton's matrix; `tangent_job`: of
                    what those of forces are made; `element_tangent`: those of bushings and rods (`bushing_tangent`,
                    `rod_tangent`)
    position        positions in the stabilized index 2; `velocity`: velocities onto the constraints

From `simulate` to Newton: `run.ConstrainedStepper.take` -> `workspace.run_loop` -> the loop of the method
-> `steps.take_steps` -> `generalized_alpha.advance` -> `newton.iterate` -> `generalized_alpha.correct` ->
`correction.correction` -> by its address `correction.correction_apart` -> `saddle.factorize_saddle`, `solve_saddle`.

Words. Workspace: what a step writes and forgets. State: what a method carries from step to step. Trial state: that of
an iteration. Rows: of the Jacobian, three a tile. A tile: up to three equations of a joint or constraint.
"""
