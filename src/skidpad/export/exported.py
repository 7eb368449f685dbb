"""`Export`: a vehicle, its integrator and its lowered Programs, from which every format is written.

The Programs are the same as in `Simulator`, in the same order of operations, so exported code
computes the same bits. The tables of reserved words of C and C++ determine which names are
available: a member of a struct may be neither a keyword nor a macro of a standard header; the name
of a vehicle, which is also that of a type, a file and the prefix of functions, may not be a name of
the standard library either.

`modules_of` writes Programs as two WebAssembly modules with the same bits. A page uses the fused
module if the engine has relaxed vector instructions and their multiply-add rounds once, else the
exact one; the loader `vehicle_module.js` chooses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..compile import pipeline
from ..compile.lower import lower
from ..compile.passes import scheduled, with_held_parts
from ..compile.plant import Plant
from ..compile.program import Program
from ..compile.wasm import assembled, checked
from ..compile.wasm_binary import scalar_dialect, vector_dialect
from ..core.arrays import Array
from ..core.files import brief_repr, shortened
from ..core.model import Model, Vehicle, vehicle_of
from ..errors import InvalidValue
from ..integrate.base import Integrator
from ..run.runner import Settings
from ..run.stability import choose_integrator
from ..units import s

LONGEST = 63
"""Number of significant characters of a name in C99 (5.2.4.1)."""

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
"""
"""Keywords of C up to C23 and of C++ up to C++23, whose compilers read the header, too."""

_MACROS = """
    BIG_ENDIAN BUFSIZ BYTE_ORDER CHAR_BIT DECIMAL_DIG EOF FD_SETSIZE HUGE_VAL HUGE_VALF HUGE_VALL I
    INFINITY LITTLE_ENDIAN L_ctermid L_tmpnam MINSIGSTKSZ NAN NFDBITS NGREG NSIG NULL ONCE_FLAG_INIT
    PDP_ENDIAN PIPE_BUF P_tmpdir TSS_DTOR_ITERATIONS WCONTINUED WEOF WEXITED WNOHANG WNOWAIT
    WSTOPPED WUNTRACED complex errno far huge imaginary interface linux math_errhandling near
    noreturn small stderr stdin stdout unix
"""
"""Macros of the standard headers without arguments, and ordinary words among those of compilers
and windows.h."""

_FAMILIES = re.compile(
    r"""
    E[A-Z0-9]+ | EXIT_[A-Z]+ | MATH_[A-Z]+ | ONCE_[A-Z_]*[A-Z]
    | (PRI|SCN)[Xa-z][A-Za-z0-9]+ | SIG[A-Z0-9_]*[A-Z0-9] | LC_[A-Z_]*[A-Z] | M_[A-Z0-9_]*[A-Z0-9]
    | [A-Z][A-Z0-9_]*_(MAX|MIN|WIDTH)
    | (FLT|DBL|LDBL|DEC(32|64|128)?)_[A-Z0-9_]*[A-Z0-9]
    | (ATOMIC|BUS|CLD|CLOCK|CLOCKS|FE|FP|FPE|ILL|MAX|POLL|PTHREAD|SA|SEEK|SEGV|SI|SS|TIME|TIMER
       |TRAP)_[A-Z0-9_]*[A-Z0-9]
    | (sa|si|sigev|atomic)_[a-z0-9_]*[a-z0-9]
    """,
    re.VERBOSE,
)
"""Families of macros in <errno.h>, <float.h>, <inttypes.h>, <limits.h>, <signal.h> and others.

The headers of a system add to them. None ends with an underscore, which is appended to a member
to make its name available.
"""

_REAL = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2
    logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round
    scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj
    creal csin csinh csqrt ctan ctanh gamma j0 j1 jn y0 y1 yn significand drem
"""
"""Functions of `double` that also exist with the suffixes f and l."""

_LIBRARY = """
    FILE abort abs aligned_alloc asctime at_quick_exit atexit atof atoi atol atoll bsearch btowc
    c16rtomb c32rtomb call_once calloc clearerr clock close cnd ctime daylight difftime div environ
    exit fclose feclearexcept fegetenv fegetexceptflag fegetround feholdexcept feof feraiseexcept
    ferror fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fflush fgetc fgetpos fgets
    fgetwc fgetws fopen fprintf fputc fputs fputwc fputws fread free freopen fscanf fseek fsetpos
    ftell fwide fwprintf fwrite fwscanf getc getchar getenv gets getwc getwchar gmtime imaxabs
    imaxdiv index isalnum isalpha isblank iscntrl isdigit isfinite isgraph isgreater isinf isless
    islower isnan isnormal isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl
    iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit jmp
    kill labs lconv ldiv link llabs lldiv localeconv localtime longjmp main malloc mblen mbrlen
    mbrtoc16 mbrtoc32 mbrtowc mbsinit mbsrtowcs mbstowcs mbtowc memchr memcmp memcpy memmove memset
    mktime mtx offsetof open pause perror pipe printf putc putchar puts putwc putwchar qsort
    quick_exit raise rand read realloc remove rename rewind rindex scanf sem setbuf setjmp setlocale
    setvbuf signal signbit signgam sigset sleep snprintf sprintf srand sscanf std strcat strchr
    strcmp strcoll strcpy strcspn strerror strftime strlen strncat strncmp strncpy strpbrk strrchr
    strspn strstr strtod strtof strtoimax strtok strtol strtold strtoll strtoul strtoull strtoumax
    strxfrm swprintf swscanf system thrd time timespec timespec_get timezone tm tmpfile tmpnam
    tolower toupper towctrans towlower towupper tss tzname ungetc ungetwc va_list vfprintf vfscanf
    vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf
    wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp wcsncpy
    wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll
    wcstombs wcstoul wcstoull wcstoumax wcsxfrm wctob wctomb wctrans wctype wmemchr wmemcmp wmemcpy
    wmemmove wmemset wprintf write wscanf
"""
"""Functions, types and variables of the standard library that a vehicle cannot be named after.

The list also has a few ordinary words of POSIX, the C++ namespace, and prefixes such as `mtx` of
`mtx_init`.
"""

_MEMBERS = frozenset((_KEYWORDS + _MACROS).split())
_REALS = frozenset(stem + end for stem in _REAL.split() for end in ("", "f", "l"))
_NAMES = _MEMBERS | _REALS | frozenset(_LIBRARY.split())
_DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)\d", re.IGNORECASE)
"""Names that Windows does not allow for files, whatever the suffix."""


def is_reserved_member(name: str) -> bool:
    """Whether a name is a keyword or a macro, which no struct member may have."""
    return name in _MEMBERS or _FAMILIES.fullmatch(name) is not None


def is_reserved_name(name: str) -> bool:
    """Whether a name is not available for a type and a file.

    Such a name is a reserved member, a name of the standard library, or a device name of Windows.
    """
    known = name in _NAMES or name.endswith("_t") or _DEVICES.fullmatch(name) is not None
    return known or is_reserved_member(name)


class Export:
    """A vehicle to be exported, with the same step as a `Simulator` with the same arguments.

    Its Programs are traced, lowered and scheduled on first use.

    Args:
        vehicle: the vehicle.
        dt: step length in s.
        integrator: "auto", the name of an integrator, or one of your own; not an adaptive one.
        name: identifier in C and base name of files; by default derived from the vehicle's name.
        precision: "float64" or "float32".
        substeps: steps of the integrator within one step; None for the model's number.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        dt: s = 0.01,
        integrator: str | Integrator = "auto",
        *,
        name: str | None = None,
        precision: str = "float64",
        substeps: int | None = None,
    ) -> None:
        self.vehicle = vehicle_of(vehicle)
        settings = Settings(dt, None, precision, threads=1, substeps=substeps)
        method = choose_integrator(self.vehicle, integrator, settings.dt, settings.substeps)
        if method.adaptive:
            raise InvalidValue(
                f"integrator = {method.name!r} chooses its own steps and cannot be exported; "
                "allowed are those of skidpad, as rk4 and radau"
            )
        self.name = _identifier(name, self.vehicle)
        self.settings = settings.replace(integrator=method)

    __repr__ = brief_repr

    @property
    def model(self) -> Model:
        """Model (equations) of the exported vehicle."""
        return self.vehicle.model

    @property
    def method(self) -> Integrator:
        """Integrator of the step."""
        assert self.settings.integrator is not None
        return self.settings.integrator

    @property
    def dt(self) -> s:
        """Step length in s; the integrator divides it into `substeps`."""
        return self.settings.dt

    @property
    def substeps(self) -> int:
        """Number of integrator steps within one step of length `dt`."""
        return self.settings.substeps or self.model.substeps

    @property
    def precision(self) -> str:
        """Type of the numbers, "float64" or "float32"."""
        return self.settings.precision

    @cached_property
    def plant(self) -> Plant:
        """Vehicle as traced Programs."""
        return Plant.of(self.vehicle, self.method)

    @cached_property
    def step(self) -> Program:
        """One sub-step as a Program, (x, u, w, p, dt, start) to (x, residual); see
        `pipeline.step_program`."""
        return self.finish(self.plant.step)

    @cached_property
    def outputs(self) -> Program:
        """Program that computes the outputs y from (x, start, u, w, p); `u` is the input applied in
        the last step.
        """
        return self.finish(self.plant.outputs)

    @cached_property
    def settle(self) -> Program | None:
        """Program from (x, p) to a consistent start; None if no state depends on others."""
        traced = settle_program(self.model)
        return None if traced is None else self.finish(traced)

    @cached_property
    def derivative(self) -> Program | None:
        """Program of the time derivative of x, from (x, start, u, w, p).

        None for a model that is not continuous or samples at the start of a step (`Model.hold`).
        """
        if not self.model.continuous or self.model.hold is not None:
            return None
        return self.finish(pipeline.derivative_program(self.vehicle))

    def finish(self, traced: Program) -> Program:
        """Lower and schedule a traced Program, with its constant parts split off."""
        return scheduled(with_held_parts(lower(traced, self.precision)))


def settle_program(model: Model) -> Program | None:
    """Traced Program from (x, p) to a consistent start; None for a model without `settle`."""
    if model.settle is None:
        return None
    return pipeline.settle_program(model.name, model.settle, model.State, model.Params)


def _identifier(name: str | None, vehicle: Vehicle) -> str:
    if name is None:
        name = re.sub(r"\W+", "_", vehicle.name, flags=re.ASCII).strip("_")
        name = name if name[:1].isalpha() else f"car_{name}"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or len(name) > LONGEST:
        raise InvalidValue(
            f"name = {shortened(name, 80)!r} is not a name in C; allowed are letters, digits and "
            f"_, a letter first, at most {LONGEST}"
        )
    if is_reserved_name(name):
        raise InvalidValue(f"name = {name!r} is reserved in C or C++; choose another")
    return name


LOADER = Path(__file__).with_name("vehicle_module.js")
"""Path of the ES module whose function `loadModule` takes the two WebAssembly modules and the
layout.
"""


@dataclass(frozen=True)
class WebAssembly:
    """Programs compiled to WebAssembly, in two variants with the same exports and memory layout."""

    fused: bytes
    """Module that uses the relaxed multiply-add of vectors.

    Its export `fused_here` returns 1 if that rounds once; otherwise its bits differ from the
    simulator's and it must not be used. An engine without relaxed vectors refuses to compile
    it.
    """
    exact: bytes
    """Module that computes the multiply-add in software: slower, runs in every engine."""
    layout: dict[str, Any]
    """Memory layout, ready for JSON.

    `precision`, `pages` (of 64 KiB), `programs` (names of the functions), and `ports`: for each
    name its `address` in bytes and its `fields`.
    """

    __repr__ = brief_repr


def modules_of(programs: Mapping[str, Program], arrays: Sequence[Array] = ()) -> WebAssembly:
    """Convert lowered Programs to WebAssembly; each becomes a function of its name without
    arguments.

    A function reads its input ports from the module's memory, then writes its output ports there.
    All ports of one name share their memory, inputs and outputs of all Programs alike.

    Args:
        programs: lowered Programs by the names of their functions.
        arrays: shared arrays that the Programs read, (n,) each; their numbers in the modules are
            1, 2, ... in this order.
    """
    if not programs:
        raise InvalidValue("programs = {}: a module needs at least one Program")
    precision = checked(programs)
    fused = assembled(programs, arrays, vector_dialect(precision))
    exact = assembled(programs, arrays, scalar_dialect(precision))
    layout = {
        "precision": precision,
        "pages": max(fused.memory.pages, exact.memory.pages),
        "programs": list(programs),
        "ports": {
            name: {"address": address, "fields": list(fields)}
            for name, (address, fields) in fused.memory.ports.items()
        },
    }
    return WebAssembly(fused.code, exact.code, layout)
