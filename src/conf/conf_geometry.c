/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_internal.h"

/* The processor counts in a line; 0: not given. */
struct geometry {
    uint32_t cpus, boards, sockets, per_board, cores, threads;
};

static uint32_t read_geometry_number(const struct conf_row *row, enum conf_node_key key)
{
    const struct conf_value *v = &row->value[key];
    long long n = 0;

    if (v->text) /* was checked when the line was read */
        (void)str_parse_i64(v->text, 0, UINT32_MAX, &n);
    return (uint32_t)n;
}

static bool is_own_value(const struct conf_row *row, enum conf_node_key key)
{
    return row->value[key].text && !row->value[key].inherited;
}

/* The line's own shape overrides a CPU count from a DEFAULT line, and vice versa. */
static struct geometry read_geometry(const struct conf_row *row)
{
    bool shape = is_own_value(row, CONF_NODE_SOCKETS) ||
                 is_own_value(row, CONF_NODE_SOCKETS_PER_BOARD) ||
                 is_own_value(row, CONF_NODE_CORES) || is_own_value(row, CONF_NODE_THREADS) ||
                 is_own_value(row, CONF_NODE_BOARDS);
    bool cpus = is_own_value(row, CONF_NODE_CPUS);
    struct geometry g = {.cpus = read_geometry_number(row, CONF_NODE_CPUS)};

    if (shape && !cpus)
        g.cpus = 0;
    if (cpus && !shape)
        return g;
    g.boards = read_geometry_number(row, CONF_NODE_BOARDS);
    g.sockets = read_geometry_number(row, CONF_NODE_SOCKETS);
    g.per_board = read_geometry_number(row, CONF_NODE_SOCKETS_PER_BOARD);
    g.cores = read_geometry_number(row, CONF_NODE_CORES);
    g.threads = read_geometry_number(row, CONF_NODE_THREADS);
    return g;
}

static bool fits_u32(uint64_t n)
{
    return n <= UINT32_MAX / 2;
}

/* Computes the missing factor from CPUs and the other factors: sockets first, then cores. */
static int infer_factor(const struct conf_row *row, struct geometry *g, struct err *err)
{
    uint32_t boards = g->boards ? g->boards : 1, threads = g->threads ? g->threads : 1;
    uint32_t cores = g->cores ? g->cores : 1;
    uint64_t unit;

    if (g->sockets && g->cores)
        return 0;
    if (!g->sockets) {
        unit = (uint64_t)cores * threads;
        if (g->cpus == (uint64_t)boards * cores) /* CPUs counts cores */
            unit = cores;
        if (g->cpus % (unit * boards))
            return conf_fail(row->at, err,
                             "CPUs=%u is not a multiple of Boards*CoresPerSocket*ThreadsPerCore=%u*"
                             "%u*%u",
                             g->cpus, boards, cores, threads);
        g->sockets = (uint32_t)(g->cpus / unit);
        return 0;
    }
    unit = (uint64_t)g->sockets * threads;
    if (g->cpus == g->sockets)
        return 0;
    if (g->cpus % unit)
        return conf_fail(row->at, err, "CPUs=%u is not a multiple of Sockets*ThreadsPerCore=%u*%u",
                         g->cpus, g->sockets, threads);
    g->cores = (uint32_t)(g->cpus / unit);
    return 0;
}

static int sockets_total(const struct conf_row *row, struct geometry *g, struct err *err)
{
    if (g->sockets && g->per_board) {
        if (is_own_value(row, CONF_NODE_SOCKETS) && is_own_value(row, CONF_NODE_SOCKETS_PER_BOARD))
            return conf_fail(row->at, err,
                             "Sockets=%u and SocketsPerBoard=%u exclude each other; give one",
                             g->sockets, g->per_board);
        if (is_own_value(row, CONF_NODE_SOCKETS))
            g->per_board = 0;
    }
    if (g->per_board)
        g->sockets = g->per_board;
    if (g->boards && g->sockets) { /* with Boards, Sockets means SocketsPerBoard */
        uint64_t total = (uint64_t)g->sockets * g->boards;
        if (!fits_u32(total))
            return conf_fail(row->at, err, "Boards=%u with %u sockets each: too many sockets",
                             g->boards, g->sockets);
        g->sockets = (uint32_t)total;
    }
    return 0;
}

int conf_geometry_derive(const struct conf_row *row, struct conf_node_row *out, struct err *err)
{
    struct geometry g = read_geometry(row);
    int rc = sockets_total(row, &g, err);

    if (rc == 0 && g.cpus)
        rc = infer_factor(row, &g, err);
    if (rc < 0)
        return rc;
    out->boards = g.boards ? g.boards : 1;
    out->sockets = g.sockets ? g.sockets : out->boards;
    out->cores = g.cores ? g.cores : 1;
    out->threads = g.threads ? g.threads : 1;
    uint64_t cores = (uint64_t)out->sockets * out->cores;
    if (!fits_u32(cores) || !fits_u32(cores * out->threads))
        return conf_fail(row->at, err, "Sockets=%u CoresPerSocket=%u ThreadsPerCore=%u: too many",
                         out->sockets, out->cores, out->threads);
    out->cpus = g.cpus ? g.cpus : (uint32_t)(cores * out->threads);
    /* CPUs may be the number of threads, cores or (select/linear) sockets. */
    if (out->cpus != cores * out->threads && out->cpus != cores && out->cpus != out->sockets)
        return conf_fail(row->at, err,
                         "CPUs=%u contradicts Sockets*CoresPerSocket*ThreadsPerCore=%u*%u*%u=%u; "
                         "give one of the two, or make them agree",
                         out->cpus, out->sockets, out->cores, out->threads,
                         (uint32_t)(cores * out->threads));
    return 0;
}
