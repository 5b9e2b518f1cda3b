/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/study/raster.h"

#include "base/mem.h"

#define LEVELS 4      /* of how much is in use */
#define ROWS_MOST 220 /* a row is two units high at least */

struct raster {
    const struct raster_area *area;
    const struct replay *r;
    uint32_t rows, columns;
    float *cells; /* by row, column and class: the share of it that such jobs had */
};

static double column_of(const struct raster *m, int64_t sec)
{
    const struct raster_area *a = m->area;
    return (double)m->columns * (double)(sec - a->from_sec) / (double)(a->to_sec - a->from_sec);
}

static double overlap(double from, double to, uint32_t cell)
{
    double low = from > cell ? from : cell, high = to < cell + 1.0 ? to : cell + 1.0;
    return high > low ? high - low : 0;
}

static void add_row(struct raster *m, uint32_t row, double from, double to, unsigned class,
                    double share)
{
    float *cell = &m->cells[(size_t)row * m->columns * FIGURES_CLASSES];
    for (uint32_t x = (uint32_t)from; x < m->columns && x < to; x++)
        cell[x * FIGURES_CLASSES + class] += (float)(share * overlap(from, to, x));
}

static void add_span(struct raster *m, const struct replay_attempt *a, const struct replay_span *s)
{
    double from = column_of(m, a->start_sec), to = column_of(m, a->end_sec);
    double rows_per_node = (double)m->rows / m->r->nodes;
    double top = s->first * rows_per_node, bottom = (s->first + s->count) * rows_per_node;
    double part = (double)s->cpus / m->r->node_cpus[s->first];
    for (uint32_t y = (uint32_t)top; y < m->rows && y < bottom; y++)
        add_row(m, y, from, to, figures_class(a->nodes), part * overlap(top, bottom, y));
}

/* What a cell is drawn as: 0 nothing, else 1 + class * LEVELS + level. */
static unsigned look_of(const struct raster *m, uint32_t row, uint32_t column)
{
    const float *cell = &m->cells[((size_t)row * m->columns + column) * FIGURES_CLASSES];
    double sum = 0;
    unsigned most = 0;
    for (unsigned i = 0; i < FIGURES_CLASSES; i++) {
        sum += (double)cell[i];
        most = cell[i] > cell[most] ? i : most;
    }
    unsigned level = (unsigned)(sum * LEVELS + 0.5);
    level = level > LEVELS ? LEVELS : level;
    return level ? 1 + most * LEVELS + level - 1 : 0;
}

/* Cells in a row that look the same are one stroke. */
static void draw_look(const struct raster *m, const uint8_t *looks, unsigned look,
                      const char *colour, struct str *out)
{
    double high = (double)m->area->height / m->rows;
    bool any = false;
    for (uint32_t y = 0; y < m->rows; y++)
        for (uint32_t x = 0; x < m->columns; x++) {
            const uint8_t *row = &looks[(size_t)y * m->columns];
            uint32_t end = x;
            while (end < m->columns && row[end] == look)
                end++;
            if (end == x)
                continue;
            if (!any)
                str_printf(out, "<path stroke=\"%s\" stroke-opacity=\"%.2f\" d=\"", colour,
                           (double)((look - 1) % LEVELS + 1) / LEVELS);
            str_printf(out, "M%u %.1fh%u", (unsigned)m->area->x + x, m->area->y + (y + 0.5) * high,
                       end - x);
            any = true;
            x = end - 1;
        }
    if (any)
        str_puts(out, "\"/>\n");
}

void raster_draw(const struct replay *r, const struct raster_area *area, const char *const *colours,
                 struct str *out)
{
    struct raster m = {area, r, r->nodes < ROWS_MOST ? r->nodes : ROWS_MOST, (uint32_t)area->width,
                       NULL};
    m.cells = mem_new_array(float, (size_t)m.rows *m.columns *FIGURES_CLASSES);
    vec_foreach (&r->attempts, a)
        for (size_t i = 0; i < a->spans; i++)
            add_span(&m, a, &r->spans.data[a->first_span + i]);
    uint8_t *looks = mem_new_array(uint8_t, (size_t)m.rows * m.columns);
    for (uint32_t y = 0; y < m.rows; y++)
        for (uint32_t x = 0; x < m.columns; x++)
            looks[(size_t)y * m.columns + x] = (uint8_t)look_of(&m, y, x);
    str_printf(out, "<g fill=\"none\" stroke-width=\"%.2f\">\n",
               (double)area->height / m.rows + 0.05);
    for (unsigned look = 1; look <= FIGURES_CLASSES * LEVELS; look++)
        draw_look(&m, looks, look, colours[(look - 1) / LEVELS], out);
    str_puts(out, "</g>\n");
    free(m.cells);
    free(looks);
}
