"""The IPython profile of nb2's Python kernels. quickstart copies this directory
to <state>/ipython/profile_default; startup/*.py beside it would run in each kernel."""

c = get_config()  # noqa: F821 (traitlets provides it)

# History stays in the process: no file that grows, no lock between kernels.
c.HistoryManager.hist_file = ":memory:"

# A list is shown whole, not its first thousand elements.
c.PlainTextFormatter.max_seq_length = 0

# Tracebacks are plain text, as the clients of /execute expect them.
c.InteractiveShell.colors = "NoColor"
