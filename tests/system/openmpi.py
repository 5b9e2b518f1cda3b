# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of Open MPI need on the machine; tests/system/expected_skips.txt decides whether they may be left out."""
import shutil

import pytest

from harness import PREFIX

SERVER = PREFIX / "sbin/slurmstepd-pmix"
needs_pmix = pytest.mark.skipif(not SERVER.exists() or not shutil.which("mpicc.openmpi"), reason="needs a build with libpmix-dev, and Open MPI")
