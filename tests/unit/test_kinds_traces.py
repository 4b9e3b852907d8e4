"""Stack traces of many languages: the error, its causes, and where in our own code; once, however often it was
raised."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.events import ToolCall
from foldmark.kinds.frames import is_library, place_at_end
from foldmark.tokens import count
from truth import top_of, untruths

PYTHON = """Traceback (most recent call last):
  File "/work/shop/pay.py", line 31, in refund
    send(total)
  File "/usr/lib/python3.11/site-packages/http/send.py", line 9, in send
    raise ValueError(total)
ValueError: negative total
"""
NODE = """/work/shop/cart.js:14
TypeError: Cannot read properties of undefined (reading 'total')
    at Object.read (/work/shop/node_modules/lib/read.js:3:9)
    at refund (/work/shop/cart.js:14:21)
    at node:internal/main/run_main_module:28:49 {
  [cause]: Error: no cart
      at load (/work/shop/load.js:7:50)
}
"""
JAVA = """Exception in thread "main" java.lang.RuntimeException: refund failed
\tat java.base/java.util.Optional.orElseThrow(Optional.java:403)
\tat shop.Pay.refund(Pay.java:31)
\tat shop.Main.main(Main.java:7)
Caused by: java.lang.IllegalStateException: no cart
\tat shop.Cart.load(Cart.java:12)
\t... 2 more
"""
KOTLIN = """Exception in thread "main" kotlin.KotlinNullPointerException
\tat kotlin.io.ReadKt.read(Read.kt:12)
\tat shop.MainKt.main(Main.kt:7)
"""
GO = """panic: runtime error: index out of range [3] with length 2

goroutine 1 [running]:
runtime.gopanic({0x1})
\t/usr/local/go/src/runtime/panic.go:884 +0x212
main.refund(...)
\t/work/shop/pay.go:31 +0x1d
main.main()
\t/work/shop/main.go:7 +0x2a
exit status 2
"""
RUST = """thread 'main' (812) panicked at src/pay.rs:31:9:
index out of bounds: the len is 0 but the index is 3
stack backtrace:
   0: rust_begin_unwind
             at /rustc/5980/library/std/src/panicking.rs:689:5
   1: shop::pay::refund
             at ./src/pay.rs:31:9
note: Some details are omitted
"""
OLD_RUST = "thread 'main' panicked at 'no cart, none', src/pay.rs:31:9\nnote: run with RUST_BACKTRACE=1\n"
SHARP = """Unhandled exception. System.InvalidOperationException: refund failed
 ---> System.ArgumentNullException: no cart
   at Shop.Cart.Load() in /work/shop/Cart.cs:line 12
   --- End of inner exception stack trace ---
   at System.Threading.Thread.Start()
   at Shop.Pay.Refund() in /work/shop/Pay.cs:line 31
"""
RUBY = """pay.rb:31:in 'Pay#refund': undefined method 'total' for nil (NoMethodError)
\tfrom /usr/lib/ruby/gems/rack.rb:4:in 'call'
\tfrom main.rb:7:in '<main>'
"""
PHP = """PHP Fatal error:  Uncaught Shop\\RefundException: no cart in /work/shop/pay.php:31
Stack trace:
#0 /work/shop/main.php(7): refund()
#1 {main}
  thrown in /work/shop/pay.php on line 31
"""
ELIXIR = """** (RuntimeError) no cart
    lib/pay.ex:31: Shop.Pay.refund/1
    (elixir 1.15.0) lib/enum.ex:1693: Enum.map/2
"""
ASAN = """=================================================================
==812==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000011 at pc 0x5616 bp 0x7fff sp 0x7ffe
READ of size 1 at 0x602000000011 thread T0
    #0 0x7f7e in __interceptor_free ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:52
    #1 0x5616 in refund /work/shop/pay.c:31
    #2 0x5617 in main /work/shop/main.c:7:3

freed by thread T0 here:
    #0 0x5616 in release /work/shop/cart.c:99
"""
GDB = """Program received signal SIGSEGV, Segmentation fault.
0x0000555555555135 in refund (total=0x0) at pay.c:31
31      return *total;
#0  0x0000555555555135 in refund (total=0x0) at pay.c:31
#1  0x0000555555555147 in main () at main.c:7
"""
SAMPLES = {
    "python": (PYTHON, "ValueError: negative total", "/work/shop/pay.py:31", ()),
    "javascript": (
        NODE,
        "TypeError: Cannot read properties of undefined (reading 'total')",
        "/work/shop/cart.js:14",
        ("Error: no cart at /work/shop/load.js:7",),
    ),
    "java": (
        JAVA,
        "java.lang.RuntimeException: refund failed",
        "Pay.java:31",
        ("java.lang.IllegalStateException: no cart at Cart.java:12",),
    ),
    "kotlin": (KOTLIN, "kotlin.KotlinNullPointerException", "Main.kt:7", ()),
    "go": (GO, "panic: runtime error: index out of range [3] with length 2", "/work/shop/pay.go:31", ()),
    "rust": (RUST, "index out of bounds: the len is 0 but the index is 3", "src/pay.rs:31", ()),
    "old rust": (OLD_RUST, "no cart, none", "src/pay.rs:31", ()),
    "csharp": (
        SHARP,
        "System.InvalidOperationException: refund failed",
        "/work/shop/Pay.cs:31",
        ("System.ArgumentNullException: no cart at /work/shop/Cart.cs:12",),
    ),
    "ruby": (RUBY, "undefined method 'total' for nil (NoMethodError)", "pay.rb:31", ()),
    "php": (PHP, "Shop\\RefundException: no cart in /work/shop/pay.php:31", "/work/shop/pay.php:31", ()),
    "elixir": (ELIXIR, "** (RuntimeError) no cart", "lib/pay.ex:31", ()),
    "asan": (
        ASAN,
        "ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000011 at pc 0x5616 bp 0x7fff sp 0x7ffe",
        "/work/shop/pay.c:31",
        (),
    ),
    "gdb": (GDB, "Program received signal SIGSEGV, Segmentation fault.", "pay.c:31", ()),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_trace_gives_its_error_its_causes_and_the_innermost_place_in_our_own_code(name: str) -> None:
    text, error, where, causes = SAMPLES[name]
    (trace,) = kinds.traces(text)
    assert (trace.error, trace.where, trace.causes, trace.times) == (error, where, causes, 1)
    assert kinds.recognise(text).name == "trace"
    assert f"{error} at {where}" in kinds.outcome(text)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_trace_inside_a_log_is_found_where_it_stands(name: str) -> None:
    text, error, where, _ = SAMPLES[name]
    before = "".join(f"2026-05-01 10:00:{n:02} INFO step {n}\n" for n in range(30))
    (trace,) = kinds.traces(f"{before}{text}2026-05-01 10:01:00 INFO on we go\n")
    assert (trace.error, trace.where) == (error, where)
    assert trace.start >= len(before)
    assert trace.end <= len(before) + len(text)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_trace_raised_again_and_again_is_told_once_with_its_count(name: str) -> None:
    text, error, where, _ = SAMPLES[name]
    many = "".join(f"request {n}\n{text}\n" for n in range(40))
    (trace,) = kinds.traces(many)
    assert (trace.error, trace.where, trace.times) == (error, where, 40)
    shown = kinds.recognise(text).preview(many, 250, count)
    assert top_of(many, shown) == "40 traces, 1 different"
    assert untruths(many, shown) == []
    assert where.rpartition(":")[0].rpartition("/")[2] in shown


@pytest.mark.parametrize("prefix", ["web-1  | ", "2026-05-01T10:00:00.{:03}Z stderr F ", "10:00:0{} app[812]: ", "  "])
def test_a_trace_with_something_in_front_of_every_line_is_read(prefix: str) -> None:
    text = "".join(f"{prefix.format(n)}{line}\n" for n, line in enumerate(PYTHON.splitlines()))
    (trace,) = kinds.traces(text)
    assert (trace.error, trace.where) == ("ValueError: negative total", "/work/shop/pay.py:31")


@pytest.mark.parametrize(
    "between",
    [
        "\nDuring handling of the above exception, another exception occurred:\n\n",
        "\nThe above exception was the direct cause of the following exception:\n\n",
    ],
)
def test_python_says_which_error_led_to_which(between: str) -> None:
    text = f"{PYTHON}{between}{PYTHON.replace('ValueError: negative total', 'RefundError: gave up')}"
    first, second = kinds.traces(text)
    assert (first.error, first.causes) == ("ValueError: negative total", ())
    assert (second.error, second.causes) == ("RefundError: gave up", ("ValueError: negative total",))
    assert "RefundError: gave up at /work/shop/pay.py:31; caused by ValueError: negative total" in kinds.outcome(text)


def test_two_tracebacks_with_nothing_said_between_them_are_no_chain() -> None:
    _, second = kinds.traces(f"{PYTHON}\nagain\n{PYTHON.replace('negative', 'odd')}")
    assert second.causes == ()


def test_an_exception_group_gives_its_own_error_and_those_inside() -> None:
    text = (
        '  + Exception Group Traceback (most recent call last):\n  |   File "/work/a.py", line 1, in <module>\n'
        "  |     f()\n  | ExceptionGroup: many (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
        '    | Traceback (most recent call last):\n    |   File "/work/b.py", line 2, in g\n    | ValueError: one\n'
    )
    assert [(trace.error, trace.where) for trace in kinds.traces(text)] == [
        ("ExceptionGroup: many (1 sub-exception)", "/work/a.py:1"),
        ("ValueError: one", "/work/b.py:2"),
    ]


def test_what_the_program_printed_meanwhile_is_not_taken_for_the_error() -> None:
    text = PYTHON.replace("    send(total)\n", "How much?\n======\n    send(total)\n")
    (trace,) = kinds.traces(text)
    assert (trace.error, trace.where) == ("ValueError: negative total", "/work/shop/pay.py:31")


@pytest.mark.parametrize("error", ["Timeout", "shop.errors.NoCart: 3", "KeyboardInterrupt", "ValueError"])
def test_errors_need_no_message_and_no_usual_name(error: str) -> None:
    (trace,) = kinds.traces(PYTHON.replace("ValueError: negative total", error) + "next line\n")
    assert trace.error == error


def test_a_go_panic_that_was_recovered_and_raised_again_names_both() -> None:
    text = GO.replace("panic: runtime", "panic: refund [recovered]\n\tpanic: runtime")
    (trace,) = kinds.traces(text)
    assert trace.error == "panic: refund [recovered]"
    assert trace.causes == ("panic: runtime error: index out of range [3] with length 2",)


def test_a_coloured_trace_is_read_like_a_plain_one() -> None:
    text = "".join(f"\x1b[31m{line}\x1b[0m\n" for line in NODE.splitlines())
    assert kinds.recognise(text).name == "trace"
    assert kinds.outcome(text).startswith("TypeError: Cannot read properties of undefined (reading 'total') at /work/")


def test_the_frames_of_our_own_code_are_shown_before_those_of_libraries() -> None:
    library = "".join(
        f'  File "/usr/lib/python3.11/site-packages/deep/m{n}.py", line {n}, in f\n    call_{n}()\n' for n in range(80)
    )
    text = PYTHON.replace("ValueError: neg", library + "ValueError: neg")
    shown = kinds.preview(text, None, 200, count)
    assert '  File "/work/shop/pay.py", line 31, in refund\n    send(total)' in shown
    assert "ValueError: negative total" in shown
    assert untruths(text, shown) == []


@pytest.mark.parametrize(
    ("place", "is_theirs"),
    [
        ("/work/shop/pay.py:3", False),
        ("/usr/lib/python3/dist-packages/x.py:3", True),
        ("node:internal/main:28", True),
        ("/work/node_modules/x/y.js:1", True),
        ("java.util.Optional.get Optional.java:3", True),
        ("/rustc/59/library/core.rs:1", True),
        ("src/internals/pay.py:3", False),
        ("/home/me/.cargo/registry/src/x.rs:1", True),
    ],
)
def test_library_frames_are_told_from_our_own(place: str, is_theirs: bool) -> None:
    assert is_library(place) is is_theirs


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("f (/work/a.js:3:9)", "/work/a.js:3"),
        ("/work/a.js:3:9", "/work/a.js:3"),
        ("f (C:\\work\\a.js:3:9)", "C:\\work\\a.js:3"),
        ("in f /work/a.c:3", "/work/a.c:3"),
        ("f (<anonymous>)", ""),
        ("", ""),
        ("a:b:c", ""),
    ],
)
def test_a_place_is_read_from_the_end_of_a_frame(words: str, place: str) -> None:
    assert place_at_end(words) == place


@pytest.mark.parametrize(
    "text",
    [
        "panic: no goroutine follows\n",
        "look at this, and at that\n",
        "   at last\n",
        "Traceback (most recent call last):\n",
        "** (note) bold\n",
        "panicked at nothing\n",
        "\tfrom here to there\n",
        "fatal error: x.h: No such file or directory\n",
    ],
)
def test_what_only_looks_like_a_trace_is_none(text: str) -> None:
    assert kinds.traces(text * 3) == []


@given(st.lists(st.sampled_from([text for text, *_ in SAMPLES.values()]), max_size=6), st.integers(60, 300))
def test_every_mix_of_traces_is_told_truly(made: list[str], budget: int) -> None:
    text = "\n2026-05-01 10:00:00 INFO between\n".join(made) + "\nend\n"
    found = kinds.traces(text, limit=99)
    assert sum(trace.times for trace in found) == len(made)
    places = [trace.start for trace in found]
    assert places == sorted(places)
    for trace in found:
        assert text.count(trace.where.rpartition(":")[0]) > 0
        assert trace.error in kinds.clean_text(text)
    shown = kinds.KINDS[[kind.name for kind in kinds.KINDS].index("trace")].preview(text, budget, count)
    assert untruths(text, shown) == []


HOSTILE = {
    "headers": "Traceback (most recent call last):\n" * 60_000,
    "indented": "\n".join(" " * n + "Traceback (most recent call last):" for n in range(2_000)),
    "frames": "    at foo\n" * 200_000,
    "long words": ("Error: " + "a" * 900 + "\n    at " + "b" * 900 + "\n") * 1_000,
    "panics": "panic: x\n" * 200_000,
    "from": "\tfrom a:3:in x\n" * 100_000,
    "stars": "** (" * 500_000,
    "dashes": "-" * 2_000_000 + "\n   at x (a:1)",
    "signals": " signal SIG\n" * 200_000,
    "no line end": "   at f (a.js:1:1)" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_broken_traces_are_passed_over(name: str) -> None:
    text = HOSTILE[name]
    assert len(kinds.traces(text)) <= 3
    assert count(kinds.preview(text, ToolCall("c", "bash", json.dumps({"command": "run"})), 100, count)) <= 100
