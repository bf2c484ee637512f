"""Output of nccl-tests and port counters, and what of the waterfall a measurement shows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.errors import FormatError, InputError, ParameterError, TopoError
from topo.training.measured import compare_measured, counter_gbps, read_nccl_tests
from topo.training.waterfall import goodput

OUTPUT = """\
# nThread 1 nGpus 1 minBytes 8388608 maxBytes 33554432 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
# Collective test starting: all_reduce_perf
# Using devices
#  Rank  0 Group  0 Pid   1111 on     node-a device  0 [0000:1b:00] NVIDIA H100
#  Rank  1 Group  0 Pid   2222 on     node-b device  0 [0000:1b:00] NVIDIA H100
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     8388608       2097152     float     sum      -1    204.0   41.12   41.12      0    203.1   41.30   41.30      0
    16777216       4194304     float     sum      -1    380.2   44.13   44.13      0    379.0   44.27   44.27    N/A
node-a: some chatter of a launcher
# Avg bus bandwidth    : 42.7
"""


def test_lines_are_read_and_others_noted() -> None:
    found = read_nccl_tests(OUTPUT.splitlines())
    assert (found.collective, found.ranks, len(found.measurements)) == ("all_reduce", 2, 4)
    first, second = found.measurements[:2]
    assert (first.bytes, first.time_us, first.busbw_gbyte_s, first.in_place) == (8388608, 204.0, 41.12, False)
    assert second.in_place and second.time_us == 203.1
    assert found.notes == ("line 10 not understood: 'node-a: some chatter of a launcher'",)
    gather = "  1024  256  float  none  -1  12.5  0.08  0.04  0  12.1  0.08  0.04  0"
    assert read_nccl_tests([gather]).measurements[0].busbw_gbyte_s == 0.04
    older = "  1024  256  float  12.5  0.08  0.04  0  12.1  0.08  0.04  0"
    assert read_nccl_tests([older]).measurements[0].time_us == 12.5
    assert "busbw" in str(found)


def test_files_and_what_is_none(tmp_path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(OUTPUT)
    assert read_nccl_tests(path).ranks == 2
    with pytest.raises(InputError, match="no such file"):
        read_nccl_tests(tmp_path / "none.txt")
    with pytest.raises(FormatError, match="no line is a result"):
        read_nccl_tests(["# nothing", "hello"])
    for size in ("²", "9" * 5_000):
        with pytest.raises(FormatError, match="no line is a result"):
            read_nccl_tests([f"{size} 256 float none -1 12.5 0.08 0.04 0 12.1 0.08 0.04 0"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=8))
def test_any_text_is_read_or_refused(lines: list[str]) -> None:
    try:
        found = read_nccl_tests(lines)
    except TopoError:
        return
    assert all(m.time_us >= 0 for m in found.measurements)


def test_counters() -> None:
    assert counter_gbps(0, 50_000_000_000, 1.0) == 400
    # InfiniBand's data counters count four bytes; one wrap of 32 bits.
    assert counter_gbps(2**32 - 10, 90, 8e-9 * 400, unit_bytes=4, bits=32) == pytest.approx(1.0)
    for arguments in ((0, 1, 0.0), (-1, 1, 1.0), (0, 2**64, 1.0)):
        with pytest.raises(ParameterError):
            counter_gbps(*arguments)


def test_a_measurement_on_the_waterfalls_scale() -> None:
    f = topo.leaf_spine(leaves=2, spines=4, hosts_per_leaf=8, link_gbps=400)
    mixed = f.endpoints.reshape(2, 8).T.ravel()
    predicted = goodput(f, mixed, bytes=2.0**26, samples=50)
    levels = {level.effect: level.gbps for level in predicted.levels}
    assert compare_measured(predicted, predicted.goodput_gbps).explained_by == "as predicted"
    half = (levels["oversubscription"] + levels["routing"]) / 2
    assert compare_measured(predicted, half).explained_by.startswith("routing in part: 50 %")
    assert "not in the model" in compare_measured(predicted, 0.5 * predicted.goodput_gbps).explained_by
    assert "above the line rate" in compare_measured(predicted, 500.0).explained_by
    # A line of nccl-tests that takes the predicted time is the prediction.
    micros = 1e6 * predicted.time_s
    line = f"67108864 16777216 float sum -1 {micros:.2f} 1.0 1.0 0 {micros:.2f} 1.0 1.0 0"
    found = compare_measured(predicted, read_nccl_tests([line]).measurements)
    assert found.measured_gbps == pytest.approx(predicted.goodput_gbps, rel=1e-4)
    with pytest.raises(ParameterError, match="no measurement"):
        compare_measured(predicted, [])
    with pytest.raises(ParameterError, match="above 0"):
        compare_measured(predicted, 0.0)
