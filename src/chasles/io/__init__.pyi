from chasles.io.report import ImportReport as ImportReport
