/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cluster/node/topo.h"
#include "sched/select/torus_spots.h"

static size_t find_index(const struct torus_sums *s, size_t x, size_t y, size_t z)
{
    return (z * (s->dims[1] + 1) + y) * (s->dims[0] + 1) + x;
}

/* values: by cell. Sums may overflow: the subtraction in torus_sums_of() wraps around, too. */
static void torus_sums_init(struct torus_sums *s, const uint32_t dims[CONF_AXES],
                            const uint64_t *values)
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

static void torus_sums_done(struct torus_sums *s)
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

/* Returns the cell with number i of the box. */
static uint32_t torus_box_cell(const uint32_t dims[CONF_AXES], const struct torus_box *b,
                               uint32_t i)
{
    uint32_t at[CONF_AXES];
    for (size_t k = 0; k < CONF_AXES; k++) {
        at[k] = (b->first[k] + i % b->dims[k]) % dims[k];
        i /= b->dims[k];
    }
    return conf_torus_cell(dims, at);
}

/* Returns the cell with number i of the box. */
static uint32_t torus_box_size(const struct torus_box *b)
{
    return b->dims[0] * b->dims[1] * b->dims[2];
}

/* --- properties of a torus ----------------------------------------------------------------------
 */

static bool is_fit(const struct chooser *ch, uint32_t node)
{
    return node != CONF_NO_NODE && bitset_test(ch->fits, node);
}

static void sum_free_cells(struct torus_view *v)
{
    size_t cells = v->unit->cells.len;
    _cleanup_free_ uint64_t *values = mem_new_array(uint64_t, cells);
    uint32_t heaviest = 0;
    v->lightest = UINT32_MAX;
    for (size_t i = 0; i < cells; i++) {
        uint32_t node = v->unit->cells.data[i];
        if (!is_fit(v->ch, node))
            continue;
        uint32_t weight = v->ch->weight[node];
        values[i] = 1;
        v->free++;
        v->lightest = weight < v->lightest ? weight : v->lightest;
        heaviest = weight > heaviest ? weight : heaviest;
    }
    v->has_weights = v->free && heaviest > v->lightest;
    torus_sums_init(&v->is_free, v->unit->dims, values);
}

enum figure { WEIGHT, TASKS, MORE, REQUIRED, FIGURES };

static uint64_t get_figure(const struct chooser *ch, uint32_t node, enum figure what)
{
    switch (what) {
    case WEIGHT:
        return ch->weight[node];
    case TASKS:
        return ch->tasks[node];
    case MORE:
        return ch->more[node];
    default:
        return bitset_test(ch->required, node);
    }
}

/* Whether spots differ in this figure as far as the job is concerned: a node takes at least one
 * task. */
static bool is_minded(const struct torus_view *v, enum figure what)
{
    switch (what) {
    case WEIGHT:
        return v->has_weights;
    case TASKS:
        return v->ch->need > v->ch->min;
    case MORE:
        return v->ch->need_more;
    default:
        return v->ch->required;
    }
}

static struct torus_sums *get_sums(struct torus_view *v, enum figure what)
{
    struct torus_sums *const sums[FIGURES] = {&v->weight, &v->tasks, &v->more, &v->required};
    return sums[what];
}

static void sum_cells(struct torus_view *v, enum figure what)
{
    size_t cells = v->unit->cells.len;
    _cleanup_free_ uint64_t *values = mem_new_array(uint64_t, cells);
    for (size_t i = 0; i < cells; i++) {
        uint32_t node = v->unit->cells.data[i];
        values[i] = is_fit(v->ch, node) ? get_figure(v->ch, node, what) : 0;
    }
    torus_sums_init(get_sums(v, what), v->unit->dims, values);
}

/* 'otherwise': the result if the figure does not matter. */
static uint64_t sum_figure(struct torus_view *v, const struct torus_box *b, enum figure what,
                           uint64_t otherwise)
{
    struct torus_sums *sums = get_sums(v, what);
    if (!is_minded(v, what))
        return otherwise;
    if (!sums->sum)
        sum_cells(v, what);
    return torus_sums_of(sums, b);
}

void torus_views_init(struct torus_views *c, const struct chooser *ch)
{
    const struct topo *t = ch->topo;
    c->count = t->toruses.len;
    c->views = mem_new_array(struct torus_view, c->count + 1);
    for (size_t i = 0; i < c->count; i++) {
        c->views[i] = (struct torus_view){.ch = ch, .unit = t->toruses.data[i].unit};
        sum_free_cells(&c->views[i]);
    }
}

void torus_views_done(struct torus_views *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct torus_view *v = &c->views[i];
        for (size_t k = 0; v->corners && k < v->unit->placements.len; k++)
            torus_sums_done(&v->corners[k]);
        for (size_t k = 0; v->numbers && k < v->unit->placements.len; k++)
            free(v->numbers[k]);
        free(v->corners);
        free(v->numbers);
        torus_sums_done(&v->is_free);
        torus_sums_done(&v->weight);
        torus_sums_done(&v->tasks);
        torus_sums_done(&v->more);
        torus_sums_done(&v->required);
    }
    free(c->views);
}

/* --- spots ---------------------------------------------------------------------------------------
 */

struct grid { /* the corners of a placement */
    const struct conf_placement *placement;
    uint32_t counts[CONF_AXES], spots;
};

/* A placement as long as the axis is equal from each of its cells. */
static struct grid make_grid(const struct conf_switch *unit, const struct conf_placement *p)
{
    struct grid g = {.placement = p, .spots = 1};
    for (size_t i = 0; i < CONF_AXES; i++) {
        uint32_t size = unit->dims[i], step = p->spacing[i];
        g.counts[i] = p->dims[i] == size ? 1 : (uint32_t)(((uint64_t)size + step - 1) / step);
        g.spots *= g.counts[i];
    }
    return g;
}

static struct torus_box make_box(const struct conf_switch *unit, const struct grid *g,
                                 uint32_t number)
{
    const struct conf_placement *p = g->placement;
    struct torus_box b;
    for (size_t i = 0; i < CONF_AXES; i++) {
        uint32_t first = p->seed[i] + number % g->counts[i] * p->spacing[i];
        b.first[i] = first < unit->dims[i] ? first : first - unit->dims[i];
        b.dims[i] = p->dims[i];
        number /= g->counts[i];
    }
    return b;
}

static bool is_box_free(const struct torus_view *v, const struct torus_box *b)
{
    return torus_sums_of(&v->is_free, b) == torus_box_size(b);
}

/* Adds the spot; false: some of its nodes are not free. */
static bool add_spot(struct torus_view *v, const struct grid *g, uint32_t corner,
                     struct torus_spots *out)
{
    struct torus_box at = make_box(v->unit, g, corner), *b = &at;
    if (!is_box_free(v, b))
        return false;
    uint32_t size = torus_box_size(b);
    vec_push(&out->list,
             ((struct torus_spot){.view = v,
                                  .box = at,
                                  .placement = (uint32_t)(g->placement - v->unit->placements.data),
                                  .corner = corner,
                                  .size = size,
                                  .weight = sum_figure(v, b, WEIGHT, (uint64_t)size * v->lightest),
                                  .tasks = sum_figure(v, b, TASKS, size),
                                  .more = sum_figure(v, b, MORE, 0),
                                  .required = sum_figure(v, b, REQUIRED, 0),
                                  .cost = TORUS_NO_COST}));
    return true;
}

/* Returns true when one of the spots of the placement is the last one. */
static bool list_placement(struct torus_view *v, const struct conf_placement *p,
                           torus_spot_test *is_last, void *ctx, struct torus_spots *out)
{
    struct grid g = make_grid(v->unit, p);
    for (uint32_t k = 0; k < g.spots; k++)
        if (add_spot(v, &g, k, out) && is_last && is_last(ctx, &vec_last(&out->list)))
            return true;
    return false;
}

bool torus_views_find(struct torus_views *c, uint32_t min, uint32_t max, torus_spot_test *is_last,
                      void *ctx, struct torus_spots *out)
{
    for (size_t i = 0; i < c->count; i++) {
        struct torus_view *v = &c->views[i];
        vec_foreach (&v->unit->placements, p) {
            uint32_t size = p->dims[0] * p->dims[1] * p->dims[2];
            bool serves = size >= min && size <= max && size <= v->free;
            if (serves && list_placement(v, p, is_last, ctx, out))
                return true;
        }
    }
    return false;
}

void torus_views_list(struct torus_views *c, uint32_t min, uint32_t max, struct torus_spots *out)
{
    torus_views_find(c, min, max, NULL, NULL, out);
}

/* Sums by cell: 1 if its node is in the set. */
static void sum_set(const struct conf_switch *unit, const struct bitset *set,
                    struct torus_sums *out)
{
    _cleanup_free_ uint64_t *values = mem_new_array(uint64_t, unit->cells.len);
    for (size_t i = 0; i < unit->cells.len; i++) {
        uint32_t node = unit->cells.data[i];
        values[i] = node != CONF_NO_NODE && bitset_test(set, node);
    }
    torus_sums_init(out, unit->dims, values);
}

bool torus_has_placement(const struct conf_switch *unit, uint32_t min, uint32_t max,
                         const struct bitset *nodes, const struct bitset *required)
{
    struct torus_sums is_there, is_required;
    uint64_t count = bitset_count(required);
    bool found = false;
    sum_set(unit, nodes, &is_there);
    sum_set(unit, required, &is_required);
    vec_foreach (&unit->placements, p) {
        uint32_t size = p->dims[0] * p->dims[1] * p->dims[2];
        struct grid g = make_grid(unit, p);
        for (uint32_t k = 0; size >= min && size <= max && k < g.spots && !found; k++) {
            struct torus_box b = make_box(unit, &g, k);
            found =
                torus_sums_of(&is_there, &b) == size && torus_sums_of(&is_required, &b) == count;
        }
    }
    torus_sums_done(&is_there);
    torus_sums_done(&is_required);
    return found;
}

uint32_t torus_spot_node(const struct torus_spot *s, uint32_t i)
{
    const struct conf_switch *unit = s->view->unit;
    return unit->cells.data[torus_box_cell(unit->dims, &s->box, i)];
}

/* --- fragmentation -------------------------------------------------------------------------------
 */

/* By corner, numbered as in make_box(). */
static void sum_corners(struct torus_view *v)
{
    size_t count = v->unit->placements.len;
    if (v->corners)
        return;
    v->corners = mem_new_array(struct torus_sums, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct grid g = make_grid(v->unit, &v->unit->placements.data[i]);
        _cleanup_free_ uint64_t *values = mem_new_array(uint64_t, g.spots);
        for (uint32_t k = 0; k < g.spots; k++) {
            struct torus_box b = make_box(v->unit, &g, k);
            values[k] = is_box_free(v, &b);
        }
        torus_sums_init(&v->corners[i], g.counts, values);
    }
}

/* Returns the number of corners among the first 'cells' cells from the seed on. */
static uint32_t count_corners(const struct conf_placement *p, size_t axis, uint32_t cells)
{
    return (uint32_t)(((uint64_t)cells + p->spacing[axis] - 1) / p->spacing[axis]);
}

/* Finds the corners from which a placement would reach the box. False: none. */
static bool find_corners_around(const struct torus_view *v, const struct torus_box *box,
                                size_t placement, struct torus_box *out)
{
    const struct conf_placement *p = &v->unit->placements.data[placement];
    for (size_t i = 0; i < CONF_AXES; i++) {
        uint32_t size = v->unit->dims[i], count = v->corners[placement].dims[i];
        uint32_t len = p->dims[i] - 1 + box->dims[i];
        if (p->dims[i] == size || len >= size) { /* from everywhere */
            out->first[i] = 0;
            out->dims[i] = count;
            continue;
        }
        uint32_t from = (box->first[i] + 2 * size - (p->dims[i] - 1) - p->seed[i]) % size;
        uint32_t end = from + len < size ? from + len : size, over = from + len - end;
        uint32_t first = count_corners(p, i, from);
        out->dims[i] = count_corners(p, i, end) - first + count_corners(p, i, over);
        out->first[i] = first < count ? first : 0;
        if (!out->dims[i])
            return false;
    }
    return true;
}

uint64_t torus_spot_cost(struct torus_spot *s)
{
    const struct conf_switch *unit = s->view->unit;
    struct torus_box around;
    if (s->cost != TORUS_NO_COST)
        return s->cost;
    sum_corners(s->view);
    s->cost = 0;
    for (size_t i = 0; i < unit->placements.len; i++) {
        const struct conf_placement *p = &unit->placements.data[i];
        uint64_t size = (uint64_t)p->dims[0] * p->dims[1] * p->dims[2];
        if (find_corners_around(s->view, &s->box, i, &around))
            s->cost += torus_sums_of(&s->view->corners[i], &around) * size;
    }
    return s->cost;
}

/* --- spots by position --------------------------------------------------------------------------
 */

void torus_views_number(struct torus_views *c, const struct torus_spots *list)
{
    for (size_t i = 0; i < c->count; i++) {
        assert(!c->views[i].numbers);
        c->views[i].numbers = mem_new_array(uint32_t *, c->views[i].unit->placements.len + 1);
        sum_corners(&c->views[i]);
    }
    for (size_t i = 0; i < list->list.len; i++) {
        const struct torus_spot *s = &list->list.data[i];
        uint32_t **numbers = &s->view->numbers[s->placement];
        if (!*numbers) {
            const struct conf_switch *unit = s->view->unit;
            *numbers = mem_new_array(uint32_t,
                                     make_grid(unit, &unit->placements.data[s->placement]).spots);
        }
        (*numbers)[s->corner] = (uint32_t)i + 1;
    }
}

/* 'numbers' belongs to a placement with 'counts' corners on the axes. */
static void visit_corners(const uint32_t *numbers, const uint32_t counts[CONF_AXES],
                          const struct torus_box *around, torus_spot_visit *visit, void *ctx)
{
    uint32_t z = around->first[2];
    for (uint32_t k = 0; k < around->dims[2]; k++, z = z + 1 < counts[2] ? z + 1 : 0) {
        uint32_t y = around->first[1];
        for (uint32_t j = 0; j < around->dims[1]; j++, y = y + 1 < counts[1] ? y + 1 : 0) {
            const uint32_t *row = &numbers[(z * counts[1] + y) * counts[0]];
            uint32_t x = around->first[0];
            for (uint32_t i = 0; i < around->dims[0]; i++, x = x + 1 < counts[0] ? x + 1 : 0)
                if (row[x])
                    visit(ctx, row[x] - 1);
        }
    }
}

uint32_t torus_spots_around(const struct torus_view *v, const struct torus_box *box,
                            torus_spot_visit *visit, void *ctx)
{
    struct torus_box around;
    uint32_t looked = 0;
    for (size_t i = 0; i < v->unit->placements.len; i++) {
        if (!v->numbers[i] || !find_corners_around(v, box, i, &around))
            continue;
        visit_corners(v->numbers[i], v->corners[i].dims, &around, visit, ctx);
        looked += torus_box_size(&around);
    }
    return looked;
}
