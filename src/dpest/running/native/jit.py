"""Text of LLVM to machine code, by llvmlite: it is small, and users need no compiler for it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

from dpest.running.native.signals import NotCompiled
from dpest.running.native.streams import all_fills


@functools.cache
def _binding() -> Any:
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise NotCompiled("llvmlite is not installed (pip install 'dpest[fast]')") from None
    if llvm.llvm_version_info < (20,):
        raise NotCompiled("llvmlite is too old (pip install 'llvmlite>=0.45')")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def available() -> bool:
    try:
        _binding()
    except NotCompiled:
        return False
    return True


def _target_machine(level: int) -> Any:
    llvm = _binding()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        opt=level,
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
    )


def optimised(text: str, machine: Any, level: int = 3) -> Any:
    """The module of a text for a machine, verified and optimised."""
    llvm = _binding()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = level > 1
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module


def compiled(text: str, level: int = 3) -> bytes:
    """The object file of a text."""
    machine = _target_machine(level)
    data: bytes = machine.emit_object(optimised(text, machine, level))
    return data


@functools.cache
def fill_object() -> bytes:
    return compiled(all_fills())


class LinkedObjects:
    """Object files linked into this process."""

    def __init__(self, objects: Sequence[bytes]) -> None:
        llvm = _binding()
        machine = _target_machine(3)
        empty = llvm.parse_assembly("")
        empty.triple, empty.data_layout = machine.triple, str(machine.target_data)
        self._engine = llvm.create_mcjit_compiler(empty, machine)
        self._objects = [llvm.ObjectFileRef.from_data(data) for data in objects]
        for part in self._objects:
            self._engine.add_object_file(part)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        found: int = self._engine.get_function_address(name)
        if not found:
            raise NotCompiled(f"the compiled code has no {name}")
        return found


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
