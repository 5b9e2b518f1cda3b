/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/torus_sums.h"

#include <stdlib.h>

#include "base/mem.h"

static size_t find_index(const struct torus_sums *s, size_t x, size_t y, size_t z)
{
    return (z * (s->dims[1] + 1) + y) * (s->dims[0] + 1) + x;
}

void torus_sums_init(struct torus_sums *s, const uint32_t dims[CONF_AXES], const uint64_t *values)
{
    memcpy(s->dims, dims, sizeof s->dims);
    s->sum = mem_realloc(NULL, sizeof(*s->sum) * find_index(s, 0, 0, dims[2] + 1));
    memset(s->sum, 0, sizeof(*s->sum) * find_index(s, 0, 0, 1));
    for (size_t z = 1; z <= dims[2]; z++) {
        memset(&s->sum[find_index(s, 0, 0, z)], 0, sizeof(*s->sum) * (dims[0] + 1));
        for (size_t y = 1; y <= dims[1]; y++) {
            uint64_t *to = &s->sum[find_index(s, 0, y, z)], row = 0;
            const uint64_t *beside = &s->sum[find_index(s, 0, y - 1, z)];
            const uint64_t *below = &s->sum[find_index(s, 0, y, z - 1)];
            const uint64_t *both = &s->sum[find_index(s, 0, y - 1, z - 1)];
            to[0] = 0;
            for (size_t x = 1; x <= dims[0]; x++) {
                row += *values++;
                to[x] = row + beside[x] + below[x] - both[x];
            }
        }
    }
}

void torus_sums_done(struct torus_sums *s)
{
    free(s->sum);
    s->sum = NULL;
}

struct span { /* of an axis; end: one past its last cell */
    size_t first, end;
};

/* Returns one span, or two if the box wraps around on the axis. */
static size_t split_axis(size_t size, size_t first, size_t len, struct span spans[2])
{
    bool wraps = first + len > size;
    spans[0] = (struct span){first, wraps ? size : first + len};
    spans[1] = (struct span){0, wraps ? first + len - size : 0};
    return wraps ? 2 : 1;
}

static uint64_t sum_spans(const struct torus_sums *s, const struct span *x, const struct span *y,
                          const struct span *z)
{
    return s->sum[find_index(s, x->end, y->end, z->end)] -
           s->sum[find_index(s, x->first, y->end, z->end)] -
           s->sum[find_index(s, x->end, y->first, z->end)] -
           s->sum[find_index(s, x->end, y->end, z->first)] +
           s->sum[find_index(s, x->first, y->first, z->end)] +
           s->sum[find_index(s, x->first, y->end, z->first)] +
           s->sum[find_index(s, x->end, y->first, z->first)] -
           s->sum[find_index(s, x->first, y->first, z->first)];
}

uint64_t torus_sums_of(const struct torus_sums *s, const struct torus_box *box)
{
    struct span spans[CONF_AXES][2];
    size_t count[CONF_AXES];
    uint64_t sum = 0;
    for (size_t i = 0; i < CONF_AXES; i++)
        count[i] = split_axis(s->dims[i], box->first[i], box->dims[i], spans[i]);
    for (size_t z = 0; z < count[2]; z++)
        for (size_t y = 0; y < count[1]; y++)
            for (size_t x = 0; x < count[0]; x++)
                sum += sum_spans(s, &spans[0][x], &spans[1][y], &spans[2][z]);
    return sum;
}

uint32_t torus_box_cell(const uint32_t dims[CONF_AXES], const struct torus_box *b, uint32_t i)
{
    uint32_t at[CONF_AXES];
    for (size_t k = 0; k < CONF_AXES; k++) {
        at[k] = (b->first[k] + i % b->dims[k]) % dims[k];
        i /= b->dims[k];
    }
    return conf_torus_cell(dims, at);
}

uint32_t torus_box_size(const struct torus_box *b)
{
    return b->dims[0] * b->dims[1] * b->dims[2];
}
