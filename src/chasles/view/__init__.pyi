from chasles.view.plot_work import work_precision as work_precision
