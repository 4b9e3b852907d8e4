"""Workers in several processes that are killed at random: nothing is forgotten, nothing is done twice."""

from __future__ import annotations

from bench.background import measure_appends, measure_killed


def test_no_scope_is_forgotten_or_compacted_twice_when_workers_are_killed_at_random() -> None:
    found = measure_killed(40, kills=6, pause=0.25)  # the first one sooner than all could be done
    assert (found.sessions, found.due) == (40, 32)
    assert found.forgotten == []
    assert found.twice == []
    assert found.needless == []
    assert found.kills > 0
    assert found.due <= found.compactions <= found.due + 3, "three sessions grew meanwhile"
    assert found.backlogs[-1][1].dirty == 0


def test_a_worker_beside_does_what_appends_raise() -> None:
    found = measure_appends(2, appends=40, sessions=2, pause=0.0)
    assert len(found.without) == len(found.beside) == 80
    assert found.reports
    assert {report.outcome for report in found.reports} <= {"applied", "not_due", "ineffective", "deferred"}
