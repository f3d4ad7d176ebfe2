from chasles.io.report import Report as Report
