"""Records: `typing.NamedTuple` classes of scalars, possibly nested, as named flat vectors.

A record is the one type that Python, NumPy, CasADi and JAX all accept unchanged. This module gives
its leaves in order (`fields`), turns it into a flat tuple and back (`flatten`, `unflatten`), builds
one from user input (`build`) and says which names and values are allowed when that fails.
Nested leaves have dotted names: `tyre.B`.
"""

from __future__ import annotations

from .building import build, check, unknown_name
from .building import check_normal as check_normal
from .classes import INTERPOLATION as INTERPOLATION
from .classes import NO_UNIT as NO_UNIT
from .classes import (
    Field,
    define,
    extended,
    fields,
    flatten,
    is_record_type,
    names,
    size,
    unflatten,
)
from .classes import at_rest as at_rest
from .classes import document as document
from .classes import document_all as document_all
from .classes import field_docs as field_docs
from .classes import interpolation as interpolation
from .classes import interpolations as interpolations

__all__ = [
    "Field",
    "build",
    "check",
    "define",
    "extended",
    "fields",
    "flatten",
    "is_record_type",
    "names",
    "size",
    "unflatten",
    "unknown_name",
]
