from __future__ import annotations
from dpest.program.forking import explore
from dpest.program.release import released
from dpest.program.paths import *
def trace(mechanism, x, *, params=None):
    paths=[]
    noises={}
    def run(rng):
        return released(mechanism(list(x), rng, **(params or {})))
    e=explore(run)
    for r in e:
        paths.append(Path(r.conditions,*r.outcome,r.choices)); noises.update(r.noises)
    return Trace(tuple(paths),noises)
