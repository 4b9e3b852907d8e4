"""What a test run says of itself, whatever its framework. Knows no framework."""

from __future__ import annotations

import msgspec


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failing test by its own name, with the first line of its error ("" when the run does not show it)."""

    name: str
    error: str = ""


class TestRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a test run says of itself. `deselected` were not run and `expected` failed as they were said to: neither
    passed. Packages are named by runs that say of a package only whether all its tests passed."""

    __test__ = False  # pytest would take the name for a test

    framework: str
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failing: tuple[Failure, ...] = ()
    deselected: int = 0
    expected: int = 0
    passed_packages: tuple[str, ...] = ()
    failed_packages: tuple[str, ...] = ()

    @property
    def is_green(self) -> bool:
        return not (self.failed or self.errors or self.failing or self.failed_packages)
