"""What an endpoint can inject: own ports, its host's share, or its scale-up links."""

import numpy as np
import pytest

import topo
from topo.traffic import line_rate_gbps


@pytest.mark.parametrize(
    ("name", "gbps"),
    [
        ("nvidia-superpod-h100-4su", 400.0),  # one 400G NIC each
        ("nvidia-superpod-h100-4su-dgx", 400.0),  # accelerators behind those NICs
        ("nvidia-gb200-nvl72", 7200.0),  # 18 NVLink 5 links of 400 Gb/s one way; no scale-out in the rack alone
        ("nvidia-superpod-gb200-2su-nvl72", 400.0),  # NVLink inside, 400G NICs out
        ("alibaba-hpn-segment", 400.0),  # two ports of 200G
        ("openai-mrc-131k", 800.0),  # eight ports of 100G
    ],
)
def test_catalogue_line_rates(name, gbps):
    assert np.unique(line_rate_gbps(topo.load(name))).tolist() == [gbps]
