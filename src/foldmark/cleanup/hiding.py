"""How secrets leave the lines that stand for results. Knows nothing of events, marks or what the lines say."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds import on_screen
from foldmark.redact import Redactor, redact_json, redactor


class Hiding(msgspec.Struct, frozen=True):
    """How secrets are replaced in outcome lines. `name` tells two keys apart without saying them; "" hides nothing."""

    name: str
    redact: Redactor

    def whole(self, text: str) -> str:
        """The text without its secrets, as a terminal shows it where a secret stands only there."""
        screen = on_screen(text)
        hidden = self.redact(screen)
        return hidden if screen is text or hidden != screen else self.redact(text)

    def call(self, call: ToolCall | None) -> ToolCall | None:
        return call and msgspec.structs.replace(call, arguments=redact_json(call.arguments, self.redact))


def hiding(secret: bytes, enabled: bool) -> Hiding:
    """Hiding with a store's key: its labels are those of the previews, of search and of checkpoints."""
    name = blake2b(secret, digest_size=8, person=b"outcome lines").hexdigest() if enabled else ""
    return Hiding(name, redactor(secret, enabled))
