from chasles.simulation.adjoint.objective import end as end
from chasles.simulation.adjoint.objective import integral as integral
from chasles.simulation.adjoint.objective import samples as samples
from chasles.simulation.adjoint.objective import smooth_maximum as smooth_maximum
