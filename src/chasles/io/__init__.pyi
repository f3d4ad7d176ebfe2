from chasles.io.model_file import Study as Study
from chasles.io.report import ImportReport as ImportReport
