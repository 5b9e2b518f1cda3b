/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stand-in for src/control in tests of the process: starts every job on node n1. */
#pragma once

#include <stddef.h>

extern size_t fixture_launch_padding; /* bytes added to each launch */
