/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stand-in for control/, for tests of the process: it starts every job on node n1. */
#pragma once

#include <stddef.h>

extern size_t fixture_launch_padding; /* bytes that each launch has beyond those it needs */
