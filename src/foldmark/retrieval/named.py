"""Remembers the secrets that a body names, so that each of its pages hides them. Knows nothing of pages, nor of which
texts are secrets.

A body never changes, so one pass over it, at its first page, is enough; a few bodies are remembered.
"""

from __future__ import annotations

from collections.abc import Iterator

from foldmark.artifacts import Artifacts
from foldmark.redact import NOTHING_NAMED, Named, Redactor, is_labelling, named_in
from foldmark.warm import Recent

LOOKED_BYTES = 32 << 20
"""Of a larger body the secrets that its beginning names are known everywhere; the others near their names. The pass
over so much takes one or two seconds."""
_STRETCH = 1 << 20
_OVERLAP = 1 << 13
"""Bytes that two stretches share: a name and its value are shorter."""
_known: Recent[Named] = Recent(8)


def named_of(artifacts: Artifacts, tenant: str, sha256: str, redact: Redactor) -> Named:
    """The secrets that a body names, with their labels. Raises NotFound."""
    if not is_labelling(redact):
        return NOTHING_NAMED
    place = (redact, tenant, sha256)
    known = _known.get(place)
    if known is None:
        known = named_in(redact, _stretches(artifacts, tenant, sha256))
        _known.put(place, known)
    return known


def _stretches(artifacts: Artifacts, tenant: str, sha256: str) -> Iterator[str]:
    size, _ = artifacts.size(tenant, sha256)
    for start in range(0, min(size, LOOKED_BYTES), _STRETCH):
        data = artifacts.read(tenant, sha256, max(0, start - _OVERLAP), start + _STRETCH)
        yield data.decode("utf-8", "replace")
