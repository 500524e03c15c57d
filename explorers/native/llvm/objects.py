"""Compilation of LLVM IR for an architecture's baseline processor, so that other machines can run the objects."""

import hashlib
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from fencepost.explorers.native.llvm.types import Export, Lowered, Unit
from fencepost.explorers.running.interrupts import peak_memory

LEVEL = 1
"""LLVM's optimization level, 0 to 3. In measurements, levels 2 and 3 compiled more slowly and made no search faster."""
CHEAP = 0
"""The level for cheap compilation. In measurements, compiling was 20 times as fast, and the code ran half as fast."""


class CompileError(RuntimeError):
    """Error for a unit that cannot be compiled, because of a bug in Fencepost."""


@dataclass(frozen=True)
class Target:
    """The compilation target: LLVM's names for the system and the processor ("" for the baseline)."""

    triple: str
    processor: str = ""


@dataclass(frozen=True)
class Object:
    exports: dict[str, Export]
    code: bytes
    seconds: float = field(default=0.0, compare=False)
    memory: int = field(default=0, compare=False)
    """Peak memory, in bytes, of the process that compiled the code, or 0 if the code came from the cache."""


@cache
def native() -> Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return Target(llvm.get_process_triple())


@cache
def version() -> str:
    own = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        own.update(path.read_bytes())
    return f"{own.hexdigest()} {llvmlite.__version__} {'.'.join(map(str, llvm.llvm_version_info))}"


def digest(unit: Unit | Lowered, target: Target | None = None, level: int = LEVEL) -> str:
    return hashlib.sha256(f"{version()}\n{target or native()}\n{level}\n{unit.content}".encode()).hexdigest()[:32]


def machine_of(target: Target, level: int) -> Any:
    found = llvm.Target.from_triple(target.triple)
    return found.create_target_machine(cpu=target.processor, features="", opt=level, reloc="pic", codemodel="default")


def is_x86(target: Target) -> bool:
    return target.triple.startswith(("x86_64", "amd64"))


@cache
def has_fast_bits() -> bool:
    """Return whether the processor gathers and scatters bits quickly; AMD's processors before Zen 3 do not."""
    slow = ("bdver", "znver1", "znver2")
    has = bool(llvm.get_host_cpu_features().get("bmi2", False))
    return is_x86(native()) and has and not llvm.get_host_cpu_name().startswith(slow)


def translated(unit: Unit | Lowered, target: Target) -> tuple[str, dict[str, Export]]:
    if isinstance(unit, Lowered):
        return unit.text + (unit.on_x86 if is_x86(target) else unit.elsewhere), dict(unit.exports)
    from fencepost.explorers.native.llvm.translate import Module

    module = Module(unit)
    return module.text(), module.exports


def optimized(text: str, machine: Any, level: int) -> Any:
    """Return LLVM IR as a verified and optimized module; its context is separate, so its memory can be freed."""
    module = llvm.parse_assembly(
        f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n{text}',
        llvm.create_context(),
    )
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(module, builder)
    return module


def assembly(unit: Unit | Lowered) -> str:
    machine = machine_of(native(), LEVEL)
    module = optimized(translated(unit, native())[0], machine, LEVEL)
    try:
        return str(machine.emit_assembly(module))
    finally:
        module.close()


def compiled(unit: Unit | Lowered, target: Target | None = None, level: int = LEVEL) -> Object:
    began = time.perf_counter()
    try:
        target = target or native()
        text, exports = translated(unit, target)
        machine = machine_of(target, level)
        module = optimized(text, machine, level)
    except (AssertionError, LookupError, RuntimeError) as error:
        raise CompileError(f"{type(error).__name__}: {error}") from error
    try:
        code = machine.emit_object(module)
        return Object(exports, code, time.perf_counter() - began, peak_memory())
    finally:
        module.close()
