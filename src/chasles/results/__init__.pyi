from chasles.ensembles.result import Ensemble as Ensemble
from chasles.integrate.solution import Solution as Solution
from chasles.relative.parameter.identifiability import Identifiability as Identifiability
from chasles.simulation.adjoint.gradient import Gradient as Gradient
from chasles.simulation.continuation import Branch as Branch
from chasles.simulation.linearize import Linearization as Linearization
from chasles.simulation.sensitivities import Sensitivities as Sensitivities
from chasles.study.comparison import Comparison as Comparison
