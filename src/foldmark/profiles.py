"""What we know of tools: what a call does, whether its result can be had again. Knows nothing of results
or sizes.

A result that can be fetched again may leave a request early; a payment, an approval, a price or a user's
answer may not: nobody can get it back by asking twice. A tool we do not know counts as one-shot unless its
name says clearly that it reads. `foldmark.shell` reads command lines; add your own tools with
`Policy.profiles`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

import msgspec

from foldmark.events import ToolCall
from foldmark.shell import Command, read_command

Role = Literal["reads", "writes", "runs", "searches", "fetches", "plans", "asks", "pays", "recalls", "other"]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PATHS = _names("file_path path filename file notebook_path target_file absolute_path file_name filePath")
COMMANDS = ("command", "cmd", "script", "code")
QUERIES = ("pattern", "query", "regex", "search_term", "q", "url", "file_name", "dir", "directory")
RANGES = _names(
    "offset limit view_range start_line end_line line_start line_end line_number start end pages page lines"
)


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool, or a family of tools. `names` are shell patterns (`get_*`), compared without case.

    `refetchable`: the same call gives the same or a fresher answer. `one_shot`: the answer cannot be had
    again, so the result is never demoted. Both False: a run or a change whose outcome line says what
    matters. The argument names are tried in order.
    """

    names: tuple[str, ...]
    role: Role
    refetchable: bool = False
    one_shot: bool = False
    path_arguments: tuple[str, ...] = PATHS
    command_arguments: tuple[str, ...] = ()
    query_arguments: tuple[str, ...] = QUERIES
    range_arguments: tuple[str, ...] = RANGES

    @property
    def is_shell(self) -> bool:
        """Whether what a call does depends on its command line."""
        return bool(self.command_arguments)

    @property
    def demotable(self) -> bool:
        return not self.one_shot


def _tools(names: str, role: Role, **fields: Any) -> Profile:
    return Profile(names=_names(names), role=role, **fields)


BUILT_IN: tuple[Profile, ...] = (
    # Shells of Claude Code, pi, Codex, SWE-agent, OpenHands, Gemini, Cursor, mini-swe-agent.
    _tools(
        "bash shell local_shell exec_command execute_bash run cmdrun* run_shell_command terminal "
        "run_command sh run_terminal_cmd execute_command container.exec powershell",
        "runs",
        command_arguments=COMMANDS,
    ),
    _tools("bashoutput taskoutput write_stdin killbash killshell get_output", "runs"),
    _tools(
        "execute_code run_python python ipython* execute_ipython* run_ipython jupyter* code_interpreter",
        "runs",
    ),
    # Editors with a `command` argument: `view` reads, everything else changes.
    _tools("str_replace_editor str_replace_based_edit_tool text_editor* oh_editor", "writes"),
    _tools(
        "read open goto scroll* view cat read_file read_many_files notebookread view_image fileread* open_file",
        "reads",
        refetchable=True,
    ),
    _tools("ls list_dir list_directory list_files tree", "searches", refetchable=True),
    _tools(
        "grep glob find search_dir search_file find_file codebase_search grep_search file_search toolsearch "
        "search_file_content ripgrep rg code_search",
        "searches",
        refetchable=True,
    ),
    _tools(
        "write edit multiedit notebookedit create insert apply_patch write_file edit_file replace "
        "create_file del delete_file patch append filewrite* fileedit* search_replace str_replace "
        "undo_edit",
        "writes",
    ),
    _tools(
        "webfetch websearch web_fetch web_search google_web_search browse* browser* fetch web_extract crawl*",
        "fetches",
        refetchable=True,
    ),
    _tools(
        "todowrite todoread update_plan todo* taskcreate taskupdate tasklist think sequentialthinking "
        "enterplanmode write_todos",
        "plans",
    ),
    # The answer is a person's: nobody can fetch it again.
    _tools(
        "exitplanmode exit_plan_mode askuserquestion ask_user* ask_followup_question clarify "
        "request_user_input confirm* approve* ask ask_human request_approval",
        "asks",
        one_shot=True,
    ),
    # Our own, under whatever server's name: what they answer stands in the log already.
    _tools(
        "session_search session_load artifact_stat artifact_lines artifact_grep artifact_json artifact_table",
        "recalls",
        refetchable=True,
    ),
    _tools("skill skill_view load_skill read_mcp_resource list_mcp_resources", "reads", refetchable=True),
    # What a sub-agent reports cost a whole run of its own.
    _tools("task agent delegate* spawn* subagent* transfer_to* handoff*", "other", one_shot=True),
    _tools("submit finish final_answer attempt_completion", "other", one_shot=True),
    _tools("calculate calculator get_time now", "other", refetchable=True),
)
UNKNOWN = Profile(names=("*",), role="other", one_shot=True)
CHILD_SESSION = "child_session"
"""Under which name of its `meta` a result says that it is the report of a sub-agent, and of which: one-shot, whatever
the tool is called."""

_VERBS: tuple[tuple[Role, bool, str], ...] = (  # role, refetchable (else one-shot), first words of names
    (
        "reads",
        True,
        "get read view show describe load lookup inspect check retrieve download count status explain",
    ),
    ("searches", True, "list search find query grep glob browse filter scan"),
    ("fetches", True, "fetch crawl scrape navigate screenshot snapshot"),
    (
        "pays",
        False,
        "pay book buy order refund charge purchase transfer withdraw deposit checkout reserve cancel "
        "exchange return redeem issue sell",
    ),
    (
        "writes",
        False,
        "create update delete send modify add remove set post put submit publish deploy merge push "
        "assign close upload invite grant revoke approve reject schedule move rename write edit "
        "insert patch",
    ),
    ("asks", False, "ask confirm prompt"),
)
_BY_VERB = {verb: (role, again) for role, again, verbs in _VERBS for verb in verbs.split()}
_ONCE = frozenset(
    _names(
        "price prices quote rate rates balance otp token approval payment certificate voucher invoice "
        "receipt coupon signature lease nonce"
    )
)
_FILES = re.compile("file|patch|editor|notebook", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=1024)
def _by_name(name: str, extra: tuple[Profile, ...]) -> Profile:
    bare = re.split(r"__|[./:]", name)[-1] or name
    for profile in extra:
        if any(
            fnmatchcase(name.lower(), known.lower()) or fnmatchcase(bare.lower(), known.lower())
            for known in profile.names
        ):
            return profile
    for profile in BUILT_IN:
        # `server__create` says nothing of files, unlike a bare `create`.
        is_vague = profile.role == "writes" and bare != name and not _FILES.search(bare)
        if not is_vague and any(
            fnmatchcase(name.lower(), known) or fnmatchcase(bare.lower(), known) for known in profile.names
        ):
            return profile
    words = [word.lower() for word in _WORD.findall(bare)]
    if not words:
        return UNKNOWN
    role, again = _BY_VERB.get(words[0], ("other", False))
    # A price or a balance is read, but tomorrow's answer is another one.
    again = again and _ONCE.isdisjoint(words)
    return Profile(names=(name,), role=role, refetchable=again, one_shot=not again)


@lru_cache(maxsize=4096)
def profile_of(name: str, arguments: str = "{}", extra_profiles: tuple[Profile, ...] = ()) -> Profile:
    """The profile of one call. `extra_profiles` come first; the first whose pattern fits rules.

    A shell call is judged by its command line: `cat` reads, `pytest` runs, `curl -X POST` writes and is
    one-shot.
    """
    profile = _by_name(name, extra_profiles)
    if profile.one_shot or (profile in extra_profiles and not profile.is_shell):
        return profile
    if profile.is_shell:
        command = read_command(_command(arguments, profile))
        return msgspec.structs.replace(
            profile, role=command.role, refetchable=command.refetchable, one_shot=command.one_shot
        )
    if profile.role == "writes" and '"view"' in arguments and decode(arguments).get("command") == "view":
        return msgspec.structs.replace(profile, role="reads", refetchable=True)
    return profile


def profile_of_call(call: ToolCall | None, extra_profiles: Sequence[Profile] = ()) -> Profile:
    """`profile_of` for a call that may be missing (a result whose call was never recorded is one-shot)."""
    return profile_of(call.name, call.arguments, tuple(extra_profiles)) if call else UNKNOWN


def decode(arguments: str) -> dict[str, Any]:
    """The arguments as a mapping; {} when they are no JSON object."""
    try:
        found = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(values: Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            words = value[2:] if value[0] in ("bash", "sh", "zsh") and len(value) > 2 else value
            return " ".join(words)
    return ""


def _command(arguments: str, profile: Profile) -> str:
    values = decode(arguments)
    return _first(values, profile.command_arguments) if values else ("" if arguments.startswith("{") else arguments)


def command_of(call: ToolCall, profile: Profile) -> str:
    """The command line of a shell call, "" for other tools."""
    return _command(call.arguments, profile) if profile.is_shell else ""


def shell_of(call: ToolCall, profile: Profile) -> Command | None:
    """The parsed command line of a shell call, None for other tools."""
    return read_command(command_of(call, profile)) if profile.is_shell else None


_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def paths_of(call: ToolCall, profile: Profile) -> tuple[str, ...]:
    """All files a call names: its path argument, the files of a patch, or those of its command line."""
    if command := shell_of(call, profile):
        return command.paths
    values = decode(call.arguments)
    if found := _first(values, profile.path_arguments):
        return (found,)
    patch = _first(values, ("input", "patch", "diff")) or call.arguments
    return tuple(dict.fromkeys(match.strip() for match in _PATCHED.findall(patch)))


def path_of(call: ToolCall, profile: Profile) -> str:
    """The file a call reads or changes, "" when it names none."""
    return next(iter(paths_of(call, profile)), "")


def range_of(call: ToolCall, profile: Profile) -> str:
    """Which part of the file a read asks for, as comparable text; "" for the whole file."""
    if command := shell_of(call, profile):
        return command.part
    values = decode(call.arguments)
    return " ".join(
        f"{name}={values[name]}" for name in profile.range_arguments if values.get(name) not in (None, "", [])
    )


_GO_THERE = re.compile(r"^\s*cd \S+\s*(?:&&|;|\n)\s*")
_SAYS = {"reads": "read", "writes": "changed", "searches": "searched", "fetches": "fetched", "plans": "plan"}


def headline(call: ToolCall | None, extra_profiles: Sequence[Profile] = (), limit: int = 100) -> str:
    """What a call did in a few words: `read src/app.py`, `ran pytest -q`, `searched def main`, `get_order
    order_id=7`."""
    if call is None:
        return "result"
    profile = profile_of_call(call, extra_profiles)
    if command := command_of(call, profile):
        return f"ran {_clip(_GO_THERE.sub('', command), limit)}"
    values = decode(call.arguments)
    word = _SAYS.get(profile.role, "")
    target = _first(values, profile.query_arguments) if profile.role in ("searches", "fetches") else ""
    target = target or path_of(call, profile)
    if word and target:
        part = range_of(call, profile) if profile.role == "reads" else ""
        return f"{word} {_clip(target, limit)}{f' ({part})' if part else ''}"
    short = (
        f"{name}={value}"
        for name, value in values.items()
        if isinstance(value, str | int | float) and len(str(value)) <= 60
    )
    return _clip(" ".join([call.name, *short]), limit)


def _clip(text: str, limit: int) -> str:
    """One line, cut at a word border."""
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit and len(text) <= limit * 4:
        return line
    head = line[:limit]
    cut = head if line[limit : limit + 1] in ("", " ") else head.rpartition(" ")[0]
    return f"{cut} …" if cut else "…"
