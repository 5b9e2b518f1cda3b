/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/study/picture.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"

#define WIDTH 1200
#define LEFT 90
#define RIGHT 20
#define PLOT (WIDTH - LEFT - RIGHT)
#define TOP 96         /* top of the schedule */
#define HIGH 440       /* height of the schedule */
#define CURVE_HIGH 100 /* height of each curve below the schedule */
#define GAP 44
#define PIECES_MOST 20000 /* maximum number of boxes before the picture becomes a raster */
#define TITLED_MOST 4000  /* maximum number of boxes with a title */
#define LEVELS 4          /* shades for the used part of a cell */
#define ROWS_MOST 220     /* a row is at least two units high */

/* Draws a schedule of many jobs as a raster: each cell shows, for a stretch of time and nodes, how
 * much was in use and by jobs of which size. */
struct raster_area { /* position in the picture, and range of time */
    int x, y, width, height;
    int64_t from_sec, to_sec;
};

/* SVG paths; one colour for each size class. */
static void draw_raster(const struct replay *r, const struct raster_area *area,
                        const char *const *colours, struct str *out);

/* By the node count of a job, from light to dark; colour-blind readers can tell them apart. */
static const char *const colours[FIGURES_CLASSES] = {"#a6cee3", "#56b4e9", "#009e73", "#f0e442",
                                                     "#e69f00", "#d55e00", "#cc79a7", "#5e3c99"};

struct frame { /* common data of the plots */
    const struct figures *f;
    const struct replay *r;
    int64_t from_sec, to_sec;
    double node_high;
};

static double x_of(const struct frame *fr, int64_t sec)
{
    return LEFT + (double)PLOT * (double)(sec - fr->from_sec) / (double)(fr->to_sec - fr->from_sec);
}

static void put_escaped(struct str *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            str_printf(out, "&#%d;", *text);
        else
            str_putc(out, *text);
}

/* --- axes --------------------------------------------------------------------------------------
 */

static int64_t tick_sec(int64_t span)
{
    static const int64_t steps[] = {1,    5,    10,    30,    60,    300,    600,    1800,
                                    3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (span / steps[i] <= 12)
            return steps[i];
    return span / 12;
}

static const char *tick_text(int64_t sec, int64_t step, char buf[TIME_TEXT_MAX])
{
    if (step % 86400 == 0)
        snprintf(buf, TIME_TEXT_MAX, "day %lld", (long long)(sec / 86400));
    else if (step % 60 == 0 && sec < 86400)
        snprintf(buf, TIME_TEXT_MAX, "%02lld:%02lld", (long long)(sec / 3600),
                 (long long)(sec / 60 % 60));
    else
        time_format_short(sec, buf);
    return buf;
}

static void time_axis(const struct frame *fr, double top, double bottom, bool labels,
                      struct str *out)
{
    int64_t step = tick_sec(fr->to_sec - fr->from_sec);
    char buf[TIME_TEXT_MAX];
    for (int64_t at = 0; at <= fr->to_sec - fr->from_sec; at += step) {
        double x = x_of(fr, fr->from_sec + at);
        str_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, top, bottom);
        if (labels)
            str_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
                       bottom + 15, tick_text(at, step, buf));
    }
}

static void node_axis(const struct frame *fr, struct str *out)
{
    uint32_t n = fr->r->nodes, step = 1;
    while (n / step > 12)
        step *= step % 3 == 1 ? 2 : step % 3 == 2 ? 5 : 1;
    for (uint32_t i = 0; i < n; i += step) {
        double y = TOP + (i + 0.5) * fr->node_high;
        str_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, y + 4);
        put_escaped(out, fr->r->node_names[i]);
        str_puts(out, "</text>\n");
    }
}

/* --- the schedule, job by job ------------------------------------------------------------------
 */

struct lanes { /* when each CPU of each node is free */
    int64_t *free_at;
    size_t *first; /* index of a node's first CPU */
};

static void put_title(const struct frame *fr, const struct replay_attempt *a, struct str *out)
{
    const struct trace_job *t = &fr->r->trace->jobs.data[a->job];
    const struct replay_job *j = &fr->r->jobs[a->job];
    char wait[TIME_TEXT_MAX], ran[TIME_TEXT_MAX];
    str_printf(out, "<title>job %lld of user %u: %u node%s, %u CPUs, waited %s, ran %s</title>",
               (long long)t->number, t->user, a->nodes, a->nodes == 1 ? "" : "s", a->cpus,
               time_format_short(a->start_sec - j->submit_sec, wait),
               time_format_short(a->end_sec - a->start_sec, ran));
}

static void draw_box(const struct frame *fr, const struct replay_attempt *a, double y, double high,
                     bool titled, struct str *out)
{
    double x = x_of(fr, a->start_sec), wide = x_of(fr, a->end_sec) - x;
    const char *colour = colours[figures_class(a->nodes)];
    str_printf(out, "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"", x, y,
               wide > 0.3 ? wide : 0.3, high, colour);
    if (titled) {
        str_putc(out, '>');
        put_title(fr, a, out);
        str_puts(out, "</rect>\n");
    } else {
        str_puts(out, "/>\n");
    }
}

/* CPUs of a node that are free when the job starts, drawn beside the CPUs of other jobs. */
static void share_of_node(const struct frame *fr, const struct lanes *l,
                          const struct replay_attempt *a, uint32_t node, uint32_t cpus, bool titled,
                          struct str *out)
{
    int64_t *lane = &l->free_at[l->first[node]];
    uint32_t all = fr->r->node_cpus[node], run = 0, left = cpus;
    double high = fr->node_high / all;
    for (uint32_t i = 0; i <= all; i++) {
        if (i < all && left && lane[i] <= a->start_sec) {
            lane[i] = a->end_sec;
            run++;
            left--;
        } else if (run) {
            draw_box(fr, a, TOP + node * fr->node_high + (i - run) * high, run * high, titled, out);
            run = 0;
        }
    }
}

static bool is_whole(const struct replay *r, const struct replay_span *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (r->node_cpus[s->first + i] != s->cpus)
            return false;
    return true;
}

static void draw_attempt(const struct frame *fr, const struct lanes *l,
                         const struct replay_attempt *a, bool titled, struct str *out)
{
    for (size_t i = 0; i < a->spans; i++) {
        const struct replay_span *s = &fr->r->spans.data[a->first_span + i];
        if (is_whole(fr->r, s))
            draw_box(fr, a, TOP + s->first * fr->node_high, s->count * fr->node_high, titled, out);
        else
            for (uint32_t k = 0; k < s->count; k++)
                share_of_node(fr, l, a, s->first + k, s->cpus, titled, out);
    }
}

static void draw_jobs(const struct frame *fr, size_t pieces, struct str *out)
{
    const struct replay *r = fr->r;
    struct lanes l = {mem_new_array(int64_t, r->cpus + 1), mem_new_array(size_t, r->nodes + 1)};
    for (uint32_t i = 0; i < r->nodes; i++)
        l.first[i + 1] = l.first[i] + r->node_cpus[i];
    for (uint32_t i = 0; i < r->cpus; i++)
        l.free_at[i] = INT64_MIN;
    str_printf(out, "<g stroke=\"#fff\" stroke-width=\"%s\">\n", pieces > 2000 ? "0.1" : "0.4");
    vec_foreach (&r->attempts, a)
        draw_attempt(fr, &l, a, pieces <= TITLED_MOST, out);
    str_puts(out, "</g>\n");
    free(l.free_at);
    free(l.first);
}

/* Upper bound of the number of boxes: a part of a node is one box or several. */
static size_t count_pieces(const struct replay *r)
{
    size_t pieces = 0;
    vec_foreach (&r->spans, s)
        pieces += is_whole(r, s) ? 1 : s->count;
    return pieces;
}

/* --- curves ------------------------------------------------------------------------------------
 */

static void draw_curve(const struct frame *fr, const double *values, double most, double top,
                       const char *class, struct str *out)
{
    double bottom = top + CURVE_HIGH;
    str_printf(out, "<path class=\"%s\" d=\"M%d %.1f", class, LEFT, bottom);
    for (int i = 0; i < PLOT; i++)
        if (i == 0 || values[i] != values[i - 1])
            str_printf(out, "H%dV%.1f", LEFT + i, bottom - CURVE_HIGH * values[i] / most);
    str_printf(out, "H%dV%.1fZ\"/>\n", LEFT + PLOT, bottom);
    time_axis(fr, top, bottom, false, out);
}

static void curve_frame(double top, const char *name, const char *most, struct str *out)
{
    str_printf(out, "<rect class=\"frame\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n",
               LEFT, top, PLOT, CURVE_HIGH);
    str_printf(out, "<text x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT, top - 6, name);
    str_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6, top + 9,
               most);
    str_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">0</text>\n", LEFT - 6,
               top + CURVE_HIGH);
}

/* Adds 'what' times the overlap to each column between 'from' and 'to'. */
static void add_between(const struct frame *fr, double *columns, int64_t from, int64_t to,
                        double what)
{
    double a = x_of(fr, from) - LEFT, b = x_of(fr, to) - LEFT;
    for (int i = (int)a; i < PLOT && i < b; i++) {
        double low = a > i ? a : i, high = b < i + 1 ? b : i + 1;
        columns[i] += what * (high - low);
    }
}

static double find_highest(const double *values)
{
    double most = 1;
    for (int i = 0; i < PLOT; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static void draw_curves(const struct frame *fr, struct str *out)
{
    double used[PLOT] = {0}, waiting[PLOT] = {0}, top = TOP + HIGH + GAP;
    const struct replay *r = fr->r;
    char most[32];
    vec_foreach (&r->attempts, a)
        add_between(fr, used, a->start_sec, a->end_sec, (double)a->cpus / r->cpus);
    for (size_t i = 0; i < r->trace->jobs.len; i++) {
        const struct replay_job *j = &r->jobs[i];
        if (j->fate != REPLAY_REFUSED)
            add_between(fr, waiting, j->submit_sec,
                        j->fate == REPLAY_WAITS ? fr->to_sec : j->start_sec, 1);
    }
    curve_frame(top, "utilisation", "100 %", out);
    draw_curve(fr, used, 1, top, "used", out);
    top += CURVE_HIGH + GAP;
    snprintf(most, sizeof most, "%.0f", find_highest(waiting));
    curve_frame(top, "jobs that wait", most, out);
    draw_curve(fr, waiting, find_highest(waiting), top, "waiting", out);
    time_axis(fr, top + CURVE_HIGH, top + CURVE_HIGH, true, out);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void put_head(const struct frame *fr, struct str *out)
{
    const struct figures *f = fr->f;
    char mean[TIME_TEXT_MAX], span[TIME_TEXT_MAX];
    str_puts(out, "<text class=\"title\" x=\"20\" y=\"28\">");
    put_escaped(out, f->r->trace->path);
    str_puts(out, " on ");
    put_escaped(out, f->conf);
    str_printf(out, "</text>\n<text x=\"20\" y=\"48\">cluster ");
    put_escaped(out, f->r->cluster);
    str_printf(out,
               ": %u nodes, %u CPUs; %zu jobs in %s; utilisation %.1f %%; mean wait %s, mean "
               "bounded slowdown %.2f</text>\n",
               f->r->nodes, f->r->cpus, f->all.jobs, time_format_short(f->makespan_sec, span),
               f->used * 100, time_format_short((int64_t)(f->all.wait_mean_sec + 0.5), mean),
               f->all.slow_mean);
}

static void put_legend(bool raster, struct str *out)
{
    int x = LEFT;
    str_printf(out, "<text x=\"%d\" y=\"76\" text-anchor=\"end\">nodes</text>\n", LEFT - 6);
    for (unsigned i = 0; i < FIGURES_CLASSES; i++, x += 92)
        str_printf(out,
                   "<rect x=\"%d\" y=\"66\" width=\"12\" height=\"12\" fill=\"%s\"/><text "
                   "x=\"%d\" y=\"76\">%s</text>\n",
                   x, colours[i], x + 17, figures_class_name(i));
    if (raster)
        str_printf(out, "<text x=\"%d\" y=\"76\">paler: only partly in use</text>\n", x);
}

static void put_style(struct str *out)
{
    str_puts(out, "<style>text{font:12px sans-serif;fill:#333}.title{font-size:16px;font-weight:"
                  "bold}.grid{stroke:#888;stroke-opacity:.25;fill:none}.frame{fill:none;stroke:"
                  "#999}.used{fill:#56b4e9}.waiting{fill:#e69f00}</style>\n");
}

void picture_svg(const struct figures *f, struct str *out)
{
    const struct replay *r = f->r;
    struct frame fr = {f, r, r->first_sec, r->end_sec, (double)HIGH / r->nodes};
    int high = TOP + HIGH + 2 * (GAP + CURVE_HIGH) + 30;
    size_t pieces = count_pieces(r);
    bool raster = pieces > PIECES_MOST || fr.node_high < 0.25;
    fr.to_sec = fr.to_sec > fr.from_sec ? fr.to_sec : fr.from_sec + 1;
    str_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
               "height=\"%d\">\n",
               WIDTH, high, WIDTH, high);
    put_style(out);
    str_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, high);
    put_head(&fr, out);
    put_legend(raster, out);
    struct raster_area area = {LEFT, TOP, PLOT, HIGH, fr.from_sec, fr.to_sec};
    if (raster)
        draw_raster(r, &area, colours, out);
    else
        draw_jobs(&fr, pieces, out);
    str_printf(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT,
               TOP, PLOT, HIGH);
    node_axis(&fr, out);
    time_axis(&fr, TOP, TOP + HIGH, true, out);
    draw_curves(&fr, out);
    str_puts(out, "</svg>\n");
}

void picture_html(const struct figures *f, size_t count, struct str *out)
{
    struct str text = STR_INIT;
    figures_format(f, count, &text);
    str_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    put_escaped(out, f->r->trace->path);
    str_puts(out, "</title><style>body{font-family:sans-serif;margin:2em}svg{max-width:100%;"
                  "height:auto}</style></head>\n<body>\n<pre>");
    put_escaped(out, str_cstr(&text));
    str_puts(out, "</pre>\n");
    for (size_t i = 0; i < count; i++) {
        if (count > 1)
            str_printf(out, "<h2>%c</h2>\n", (int)('A' + i));
        picture_svg(&f[i], out);
    }
    str_puts(out, "</body></html>\n");
    str_done(&text);
}

struct raster {
    const struct raster_area *area;
    const struct replay *r;
    uint32_t rows, columns;
    float *cells; /* by row, column and class: the part of the cell used by such jobs */
};

static double column_of(const struct raster *m, int64_t sec)
{
    const struct raster_area *a = m->area;
    return (double)m->columns * (double)(sec - a->from_sec) / (double)(a->to_sec - a->from_sec);
}

static double find_overlap(double from, double to, uint32_t cell)
{
    double low = from > cell ? from : cell, high = to < cell + 1.0 ? to : cell + 1.0;
    return high > low ? high - low : 0;
}

static void add_row(struct raster *m, uint32_t row, double from, double to, unsigned class,
                    double share)
{
    float *cell = &m->cells[(size_t)row * m->columns * FIGURES_CLASSES];
    for (uint32_t x = (uint32_t)from; x < m->columns && x < to; x++)
        cell[x * FIGURES_CLASSES + class] += (float)(share * find_overlap(from, to, x));
}

static void add_span(struct raster *m, const struct replay_attempt *a, const struct replay_span *s)
{
    double from = column_of(m, a->start_sec), to = column_of(m, a->end_sec);
    double rows_per_node = (double)m->rows / m->r->nodes;
    double top = s->first * rows_per_node, bottom = (s->first + s->count) * rows_per_node;
    double part = (double)s->cpus / m->r->node_cpus[s->first];
    for (uint32_t y = (uint32_t)top; y < m->rows && y < bottom; y++)
        add_row(m, y, from, to, figures_class(a->nodes), part * find_overlap(top, bottom, y));
}

/* The look of a cell: 0: empty, otherwise 1 + class * LEVELS + level. */
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

/* Adjacent cells with the same look are one stroke. */
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

static void draw_raster(const struct replay *r, const struct raster_area *area,
                        const char *const *palette, struct str *out)
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
        draw_look(&m, looks, look, palette[(look - 1) / LEVELS], out);
    str_puts(out, "</g>\n");
    free(m.cells);
    free(looks);
}
