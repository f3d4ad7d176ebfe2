"""Position inverse kinematics of a frame: damped Gauss-Newton on the groups of the joints, within their limits.

The error of a frame at (R, p) from its target (R_t, p_t) is e = (log(RᵀR_t), p_t - p), in mixed representation, so that
rotation and position can be weighted, or left out. Along q exp(δ) it changes by -(dexpinv_e J_ω, J_v) δ with the mixed
Jacobian J. Each step solves (JᵀJ + λI) δ = Jᵀe as δ = Jᵀ(JJᵀ + λI)⁻¹e, six equations however many joints, O(n); a step
that does not lower the error raises λ (Levenberg and Marquardt). Coordinates at a limit that the step would leave are
held (active set); the others are stopped at their limits.
"""

from __future__ import annotations
