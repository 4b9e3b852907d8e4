"""What every place for bodies promises: one suite, run over each of them."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldmark.artifacts import Artifacts, FileArtifacts, MemoryArtifacts, files
from foldmark.artifacts.bodies import FRAME_BYTES
from foldmark.artifacts.grep import LONGEST_LINE
from foldmark.errors import NotFound, PolicyError, StoreError


@pytest.fixture(params=["memory", "files"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Artifacts:
    return MemoryArtifacts() if request.param == "memory" else FileArtifacts(tmp_path / "artifacts")


BODY = b"".join(b"line %d of the log\n" % n for n in range(1, 100_001))  # about two frames


def lines(first: int, last: int) -> bytes:
    return b"".join(b"line %d of the log\n" % n for n in range(first, last + 1))


def test_a_body_is_named_by_its_hash_and_comes_back_byte_for_byte(place: Artifacts) -> None:
    for data in (b"", b"x", b"\n", b"\xff\x00\n\r\n", BODY):
        sha256 = place.put("t", data)
        assert sha256 == hashlib.sha256(data).hexdigest()
        assert place.read("t", sha256) == data
        assert place.has("t", sha256)


def test_storing_the_same_bytes_again_changes_nothing(place: Artifacts) -> None:
    assert place.put("t", b"x") == place.put("t", b"x")
    assert len(list(place.all("t"))) == 1


@pytest.mark.parametrize(
    ("data", "count"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (BODY, 100_000)]
)
def test_lines_are_counted_by_their_ends_and_a_last_one_without(place: Artifacts, data: bytes, count: int) -> None:
    assert place.size("t", place.put("t", data)) == (len(data), count)


def test_lines_are_read_with_their_ends(place: Artifacts) -> None:
    sha256 = place.put("t", BODY)
    for first, last in (
        (1, 1),
        (1, 3),
        (255, 258),
        (256, 256),
        (257, 257),
        (60_000, 60_100),
        (99_999, 10**6),
    ):
        assert place.read_lines("t", sha256, first, last) == lines(first, min(last, 100_000))
    assert place.read_lines("t", sha256, 100_001, 100_002) == b""
    assert place.read_lines("t", sha256, 5, 4) == b""
    assert place.read_lines("t", sha256, -3, 2) == lines(1, 2)


def test_pages_of_lines_join_without_loss(place: Artifacts) -> None:
    data = BODY[:-1]
    sha256 = place.put("t", data)
    pages = [place.read_lines("t", sha256, first, first + 6_999) for first in range(1, 100_001, 7_000)]
    assert b"".join(pages) == data


def test_any_stretch_of_bytes_can_be_read(place: Artifacts) -> None:
    sha256 = place.put("t", BODY)
    border = FRAME_BYTES
    for start, end in ((0, 10), (border - 5, border + 5), (border, border + 1), (7, None), (9, 3)):
        assert place.read("t", sha256, start, end) == BODY[start:end]
    assert place.read("t", sha256, len(BODY) + 5) == b""


def test_the_span_of_lines_tells_their_bytes(place: Artifacts) -> None:
    sha256 = place.put("t", b"ab\n\ncd")
    assert [place.span("t", sha256, n, n) for n in (1, 2, 3, 4)] == [(0, 3), (3, 4), (4, 6), (6, 6)]


def test_a_tenant_sees_only_their_own_bodies(place: Artifacts) -> None:
    names = [
        "walking",
        "walked",
        "École",
        "ecole",
        "ECOLE",
        "a/b",
        "a",
        "..",
        ".",
        "",
        'a"b',
        "nul\x00",
        "\ud800",
    ]
    names.append("a" * 300)
    stored = {name: place.put(name, f"body {number}".encode()) for number, name in enumerate(names)}
    for name, sha256 in stored.items():
        assert [found for found, _ in place.all(name)] == [sha256]
        for other in names:
            assert place.has(other, sha256) is (other == name)
            if other != name:
                with pytest.raises(NotFound):
                    place.read(other, sha256)


def test_what_is_not_there_is_not_found_whatever_it_is_called(place: Artifacts) -> None:
    for sha256 in ("0" * 64, "", "../../etc/passwd", "a" * 63 + "/", "nul\x00"):
        assert not place.has("t", sha256)
        for ask in (place.read, place.size):
            with pytest.raises(NotFound):
                ask("t", sha256)
        with pytest.raises(NotFound):
            list(place.grep("t", sha256, "x"))
        assert place.delete("t", [sha256]) == 0


def test_bodies_are_deleted_one_by_one(place: Artifacts) -> None:
    first, second = place.put("t", b"1"), place.put("t", b"2")
    assert place.delete("t", [first, first]) == 1
    assert not place.has("t", first)
    assert place.read("t", second) == b"2"
    with pytest.raises(NotFound):
        place.size("t", first)


def test_grep_gives_numbers_and_lines_in_order(place: Artifacts) -> None:
    sha256 = place.put("t", BODY)
    assert list(place.grep("t", sha256, "line 4999 ")) == [(4_999, b"line 4999 of the log")]
    found = [number for number, _ in place.grep("t", sha256, r"line \d*7777\b")]
    assert found == [n for n in range(1, 100_001) if str(n).endswith("7777")]
    assert [n for n, _ in place.grep("t", sha256, "^line", limit=3)] == [1, 2, 3]
    assert list(place.grep("t", sha256, "absent")) == []


def test_grep_finds_a_line_that_stands_across_two_frames(place: Artifacts) -> None:
    data = b"x" * (FRAME_BYTES - 3) + b"needle\nend\n"
    assert [n for n, _ in place.grep("t", place.put("t", data), "needle")] == [1]
    data = b"y\n" * ((FRAME_BYTES - 4) // 2) + b"a needle\nlast"
    sha256 = place.put("t", data)
    number = data.count(b"\n")
    assert list(place.grep("t", sha256, "needle")) == [(number, b"a needle")]
    assert list(place.grep("t", sha256, "^last$")) == [(number + 1, b"last")]


def test_grep_treats_plain_text_as_plain_text_and_reads_any_bytes(place: Artifacts) -> None:
    sha256 = place.put("t", "café 東京\n".encode() + b"\xff\xfe raw \n")
    assert [n for n, _ in place.grep("t", sha256, "東京")] == [1]
    assert [n for n, _ in place.grep("t", sha256, "caf.$|raw")] == [2]
    assert [n for n, _ in place.grep("t", sha256, "(?i)CAFÉ")] == [1]


def test_grep_shows_a_stretch_round_the_match_of_an_endless_line(place: Artifacts) -> None:
    sha256 = place.put("t", b"a" * 300_000 + b"needle" + b"b" * 300_000)
    ((number, line),) = place.grep("t", sha256, "needle")
    assert number == 1
    assert b"needle" in line
    assert len(line) <= LONGEST_LINE


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"(?:a{1,900}){1,900}b", r"(a?){60}a{60}c"])
def test_a_hostile_pattern_ends_in_an_error_and_not_in_a_hang(place: Artifacts, pattern: str) -> None:
    sha256 = place.put("t", b"a" * 5_000 + b"!\n")
    with pytest.raises(StoreError, match="ran out of time"):
        list(place.grep("t", sha256, pattern, seconds=0.05))


@pytest.mark.parametrize("pattern", ["", "(", "[a", "x" * 1_001, "a{5000}", "(?:a{2,9999})", "*"])
def test_a_pattern_that_cannot_be_used_is_refused_with_a_word(place: Artifacts, pattern: str) -> None:
    sha256 = place.put("t", b"aaa\n")
    with pytest.raises(PolicyError, match="grep"):
        list(place.grep("t", sha256, pattern))


def test_files_of_another_reader_are_the_same(tmp_path: Path) -> None:
    sha256 = FileArtifacts(tmp_path).put("t", BODY)
    assert FileArtifacts(tmp_path).read_lines("t", sha256, 50_000, 50_001) == lines(50_000, 50_001)


def test_a_body_takes_less_room_than_its_bytes_and_leaves_no_unfinished_files(tmp_path: Path) -> None:
    FileArtifacts(tmp_path).put("t", BODY)
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert file.stat().st_size < len(BODY) / 3


def test_a_damaged_file_says_which_body_is_lost(tmp_path: Path) -> None:
    place = FileArtifacts(tmp_path)
    sha256 = place.put("t", b"x" * 100)
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(StoreError, match=sha256):
        FileArtifacts(tmp_path).read("t", sha256)


def test_a_body_that_is_stored_again_counts_as_new(tmp_path: Path) -> None:
    place = FileArtifacts(tmp_path)
    sha256 = place.put("t", b"x")
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    os.utime(file, (1, 1))
    assert list(place.all("t")) == [(sha256, 1.0)]
    place.put("t", b"x")
    assert next(iter(place.all("t")))[1] > 1.0


def the_file(root: Path) -> Path:
    (file,) = [path for path in root.rglob("*") if path.is_file()]
    return file


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


NOISE = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(40_000))  # one frame and a bit, incompressible


@given(share=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255), data=st.sampled_from([NOISE, BODY, b"x"]))
@example(share=0.5, mask=255, data=NOISE)  # the data itself
@example(share=0.0, mask=1, data=BODY)  # the beginning of a frame
@example(share=0.999_99, mask=128, data=NOISE)  # the length of the index
@settings(max_examples=40, deadline=None)
def test_any_damage_is_never_read_as_truth_and_is_mended_by_storing_again(share: float, mask: int, data: bytes) -> None:
    with TemporaryDirectory() as folder:
        place = FileArtifacts(folder)
        sha256 = place.put("t", data)
        file = the_file(Path(folder))
        whole, at = file.read_bytes(), int(share * file.stat().st_size)
        file.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        for reader in (place, FileArtifacts(folder)):
            with suppress(StoreError):
                assert reader.read("t", sha256) == data
            with suppress(StoreError):
                assert b"\n".join(line for _, line in reader.grep("t", sha256, "^", limit=10**6, seconds=60)) in data
        assert FileArtifacts(folder).put("t", data) == sha256
        for reader in (place, FileArtifacts(folder)):
            assert reader.read("t", sha256) == data
            assert reader.size("t", sha256) == (len(data), lines_of(data))


def lines_of(data: bytes) -> int:
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


@given(kept=st.floats(0, 1, exclude_max=True))
@settings(max_examples=20, deadline=None)
def test_a_file_cut_anywhere_is_an_error_of_the_store_and_is_mended_by_storing_again(kept: float) -> None:
    with TemporaryDirectory() as folder:
        place = FileArtifacts(folder)
        sha256 = place.put("t", NOISE)
        file = the_file(Path(folder))
        file.write_bytes(file.read_bytes()[: int(kept * file.stat().st_size)])
        for reader in (place, FileArtifacts(folder)):
            with pytest.raises(StoreError, match=f"{sha256}.*damaged"):
                reader.read("t", sha256)
        place.put("t", NOISE)
        assert place.read("t", sha256) == NOISE


def test_a_file_that_vanishes_between_its_index_and_its_bytes_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = FileArtifacts(tmp_path)
    sha256 = place.put("t", BODY)
    index = place._index("t", sha256)
    place.delete("t", [sha256])
    monkeypatch.setattr(place, "_index", lambda tenant, sha: index)
    with pytest.raises(NotFound):
        place.read("t", sha256)


def test_a_whole_body_that_is_stored_again_is_not_written_again(tmp_path: Path) -> None:
    place = FileArtifacts(tmp_path)
    place.put("t", NOISE)
    before = the_file(tmp_path).stat().st_ino
    FileArtifacts(tmp_path).put("t", NOISE)
    assert the_file(tmp_path).stat().st_ino == before


def test_a_file_of_an_earlier_release_without_checksums_stays_readable_and_counts_as_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compressor = zstandard.ZstdCompressor
    with monkeypatch.context() as earlier:
        earlier.setattr(zstandard, "ZstdCompressor", lambda level, **_: compressor(level=level))
        sha256 = FileArtifacts(tmp_path).put("t", BODY)
    old = the_file(tmp_path).read_bytes()
    assert not zstandard.get_frame_parameters(old).has_checksum
    place = FileArtifacts(tmp_path)
    assert place.read("t", sha256) == BODY
    place.put("t", BODY)
    assert the_file(tmp_path).read_bytes() == old


def test_damage_of_a_file_without_checksums_is_found_when_it_is_stored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compressor = zstandard.ZstdCompressor
    with monkeypatch.context() as earlier:
        earlier.setattr(zstandard, "ZstdCompressor", lambda level, **_: compressor(level=level))
        sha256 = FileArtifacts(tmp_path).put("t", NOISE)
    file = the_file(tmp_path)
    file.write_bytes(flipped(file.read_bytes(), 500_000))
    reader = FileArtifacts(tmp_path)
    assert reader.read("t", sha256) != NOISE  # nothing tells: such files are as they are
    FileArtifacts(tmp_path).put("t", NOISE)
    assert reader.read("t", sha256) == NOISE, "a reader that knows the old file reads the new one"


def test_only_what_was_not_stored_again_since_is_deleted(place: Artifacts) -> None:
    old, renewed = place.put("t", b"old"), place.put("t", b"renewed")
    listed = max(time for _, time in place.all("t"))
    while max(time for _, time in place.all("t")) <= listed:
        place.put("t", b"renewed")
    assert place.delete("t", [old, renewed, "0" * 64], before=listed) == 1
    assert [sha256 for sha256, _ in place.all("t")] == [renewed]


def test_unfinished_files_of_killed_writers_are_swept_when_they_are_old(tmp_path: Path) -> None:
    place = FileArtifacts(tmp_path)
    sha256 = place.put("t", b"x")
    folder = the_file(tmp_path).parent
    for name in (".new-old", ".new-young"):
        (folder / name).write_bytes(b"half")
    os.utime(folder / ".new-old", (1, 1))
    os.utime(folder / sha256, (1, 1))
    assert place.sweep("other", before=2.0) == 0
    assert place.sweep("t", before=2.0) == 1
    assert sorted(path.name for path in folder.iterdir()) == [".new-young", sha256]


@pytest.mark.skipif(os.name != "posix", reason="folders are flushed on posix only")
def test_every_folder_that_got_a_new_name_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(files, "_flush_names", flushed.append)
    root = tmp_path / "new"
    sha256 = FileArtifacts(root).put("t", b"x")
    file = the_file(root)
    assert file.name == sha256
    assert flushed == [file.parents[0], file.parents[1], file.parents[2], root, tmp_path]
    flushed.clear()
    os.unlink(file)
    FileArtifacts(root).put("t", b"x")
    assert flushed == [file.parent]
