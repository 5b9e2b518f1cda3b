/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of values over boxes of the cells of a torus. The time for a box does not depend on its
 * size. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

/* 'dims' cells on each axis from 'first' on; behind the last cell of an axis comes its first. */
struct torus_box {
    uint32_t first[CONF_AXES], dims[CONF_AXES];
};

struct torus_sums {
    uint32_t dims[CONF_AXES];
    uint64_t *sum; /* by (x, y, z), x fastest: of all cells below x, y and z */
};

/* values: by cell. Sums may overflow: the subtraction in torus_sums_of() wraps around, too. */
void torus_sums_init(struct torus_sums *s, const uint32_t dims[CONF_AXES], const uint64_t *values);
void torus_sums_done(struct torus_sums *s);
uint64_t torus_sums_of(const struct torus_sums *s, const struct torus_box *box);

/* Returns the cell with number i of the box. */
uint32_t torus_box_cell(const uint32_t dims[CONF_AXES], const struct torus_box *b, uint32_t i);
uint32_t torus_box_size(const struct torus_box *b);
