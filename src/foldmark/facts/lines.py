"""How a command is named, so that its reruns share a name, and what tells calls apart that share one. Knows nothing of
results.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from typing import NamedTuple

from foldmark.events import ToolCall
from foldmark.facts.ledger import Ledger
from foldmark.profiles import decode

_FILTER = r"\|\s*(?:head|tail|cat|less|grep|egrep|rg|sed|awk|sort|uniq|wc|tee)\b(?:\"[^\"]*\"|'[^']*'|[^|&;\"'])*"
_ENDINGS = re.compile(rf"(?:\s*(?:2>&1|{_FILTER}|\|\|\s*true))+\s*$")
_CLOSING = re.compile(rf"{_FILTER}$|\|\|\s*true\s*$")
_ENTER = re.compile(r"^\s*cd\s+(\S+)\s*(?:&&|;|\n)\s*")
_FOLDERS = ("workdir", "cwd", "working_directory", "directory")
_HEREDOC = re.compile(r"(<<-?\s*['\"]?\w+['\"]?)[^\n]*\n.*", re.DOTALL)


class Said(NamedTuple):
    """A call as it was made: its plain line, the folder it says it runs in, and the whole of it."""

    line: str
    place: str
    whole: str

    @property
    def mark(self) -> str:
        """What tells two calls apart whose lines are the same, because a line holds no script and no long argument; ""
        when it holds all."""
        bare = _ENDINGS.sub("", " ".join(_ENTER.sub("", self.whole, count=1).split()))
        return "" if bare == self.line else hashlib.sha256(bare.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def details(self, key: str) -> dict[str, str]:
        """What an error keeps of the call that failed."""
        return {"line": "" if self.line == key else self.line, "in": self.place, "mark": self.mark}


def command_key(command: str) -> str:
    """A command line as its reruns share it: without `cd … &&`, `2>&1`, `| tail`, and with single spaces."""
    bare = _ENDINGS.sub("", _HEREDOC.sub(r"\1 …", _ENTER.sub("", command, count=1)))
    return " ".join(bare.split())[:240]


def shown(command: str) -> str:
    """A command line as people read it: without the folder it goes to and the script handed in."""
    return _HEREDOC.sub(r"\1 …", _ENTER.sub("", command))


def is_filtered(command: str) -> bool:
    """Whether the exit code of a command line is that of a filter behind it."""
    return bool(_CLOSING.search(command))


def place_of(command: str, call: ToolCall) -> str:
    """The folder that a call says it runs in, "" when it says none."""
    values, entered = decode(call.arguments), _ENTER.match(command)
    given = next((value for name in _FOLDERS if isinstance(value := values.get(name), str) and value), "")
    place = posixpath.join(given, entered[1].strip("'\"")) if entered else given
    return posixpath.normpath(place) if place else ""


def placed(ledger: Ledger, line: str, place: str) -> tuple[str, str]:
    """The key of a command line in a folder, and the folder that the key stands for: the first has the plain key."""
    known = ledger.get("command", line)
    home = known.meta.get("in", "") if known else ""
    if place and home and place != home:
        return f"{line} (in {place})", place
    return line, home or place
