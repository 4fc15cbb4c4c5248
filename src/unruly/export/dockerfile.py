"""A Dockerfile that serves the model and asks no network: everything is installed from wheels beside it."""

from __future__ import annotations

from collections.abc import Sequence

_TEXT = """\
# Serves {name}.unruly. Nothing is fetched while it is built: put the wheels beside it first,
#   pip wheel --wheel-dir wheels 'unruly[{extras}]'
# and then: docker build -t {tag} . && docker run --rm -p 8080:8080 {tag}
FROM python:3.11-slim
COPY wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'unruly[{extras}]' && rm -rf /wheels \\
    && useradd --system --create-home unruly
COPY {files} /model/
USER unruly
ENV OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \\
    ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health/ready', timeout=2)"]
CMD ["unruly", "serve", "/model/{name}.unruly", "--host", "0.0.0.0", "--port", "8080"{functions}]
"""


def dockerfile(name: str, extras: Sequence[str], functions: Sequence[str] = ()) -> str:
    """The text; `name` is a plain file name, `extras` what the model needs, `functions` files with its rule functions.

    >>> print(dockerfile("spam", ["serve"]).splitlines()[-1])
    CMD ["unruly", "serve", "/model/spam.unruly", "--host", "0.0.0.0", "--port", "8080"]
    """
    files = [f"{name}.unruly", *functions]
    given = "".join(f', "--functions", "/model/{file}"' for file in functions)
    tag = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")
    return _TEXT.format(
        name=name,
        extras=",".join(extras),
        tag=tag or "unruly",
        files=" ".join(files),
        functions=given,
    )
