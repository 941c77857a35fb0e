"""dpest check: is a certificate valid?"""

from __future__ import annotations

import click


@click.command()
@click.argument("certificates", nargs=-1, required=True, metavar="CERTIFICATE...")
def check(certificates: tuple[str, ...]) -> int:
    """Check certificates with the independent checker: exact rationals, no solver.

    Exit status: 0 all are valid, 1 one was refused.

    \b
    Example:
      dpest prove SVT1 --certificate svt.cert.json && dpest check svt.cert.json
    """
    import json
    from pathlib import Path

    from dpest.proofs import checker, finite_checker

    status = 0
    for path in certificates:
        try:
            method = json.loads(Path(path).read_text()).get("method")
        except (OSError, ValueError, AttributeError):
            method = None  # the checker says what is wrong with it
        chosen = finite_checker if method == "finite" else checker
        status = max(status, chosen.main([path]))
    return status
