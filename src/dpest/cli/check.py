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
    from dpest.proofs import checker

    return checker.main(list(certificates))
