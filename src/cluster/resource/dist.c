/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/dist.h"

#include <assert.h>
#include <string.h>

static const char *const nodes_words[] = {
    [DIST_NODES_ANY] = "*", [DIST_NODES_BLOCK] = "block",   [DIST_NODES_CYCLIC] = "cyclic",
    [DIST_PLANE] = "plane", [DIST_ARBITRARY] = "arbitrary", NULL};
static const char *const order_words[] = {[DIST_ANY] = "*",
                                          [DIST_CYCLIC] = "cyclic",
                                          [DIST_BLOCK] = "block",
                                          [DIST_FCYCLIC] = "fcyclic",
                                          NULL};
static const char *const pack_words[] = {
    [DIST_PACK_ANY] = "*", [DIST_PACK] = "pack", [DIST_NOPACK] = "nopack", NULL};

/* Parses a word of the list and advances; returns its index, 0 for an empty word, -1: not in the
 * list. */
static int find_dist_word(const char **at, const char *ends, const char *const *words)
{
    size_t len = strcspn(*at, ends);
    int found = len ? -1 : 0;

    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == len && strncasecmp(words[i], *at, len) == 0)
            found = i;
    *at += len;
    return found;
}

/* Parses "=4". */
static int read_size(const char **at, uint32_t *size)
{
    size_t digits = strspn(*at + 1, "0123456789");
    uint64_t n = 0;

    if (!digits || digits > 9)
        return -ERR_PARSE;
    for (size_t i = 1; i <= digits; i++)
        n = n * 10 + (uint64_t)((*at)[i] - '0');
    *size = (uint32_t)n;
    *at += digits + 1;
    return n ? 0 : -ERR_PARSE;
}

int dist_parse(const char *text, struct dist *out)
{
    const char *at = text ? text : "";
    struct dist d = {0};
    int nodes = find_dist_word(&at, ":,=", nodes_words), sockets = 0, cores = 0, pack = 0;

    if (nodes < 0 && !*at) { /* only "Pack" */
        const char *word = text;

        pack = find_dist_word(&word, "", pack_words);
        nodes = pack < 0 ? -1 : 0;
    }
    if (nodes == DIST_PLANE && *at == '=' && read_size(&at, &d.plane) < 0)
        return -ERR_PARSE;
    if (*at == ':')
        at++, sockets = find_dist_word(&at, ":,", order_words);
    if (*at == ':')
        at++, cores = find_dist_word(&at, ":,", order_words);
    if (*at == ',')
        at++, pack = *at ? find_dist_word(&at, "", pack_words) : -1;
    if (*at || nodes < 0 || sockets < 0 || cores < 0 || pack < 0)
        return -ERR_PARSE;
    d.nodes = (enum dist_nodes)nodes;
    d.sockets = (enum dist_order)sockets;
    d.cores = (enum dist_order)cores;
    d.pack = (enum dist_pack)pack;
    *out = d;
    return 0;
}

void dist_format(const struct dist *d, struct str *out)
{
    if (!d->nodes && !d->sockets && !d->cores && !d->pack)
        return;
    str_puts(out, nodes_words[d->nodes ? d->nodes : DIST_NODES_BLOCK]);
    if (d->plane)
        str_printf(out, "=%u", d->plane);
    if (d->sockets || d->cores)
        str_printf(out, ":%s", order_words[d->sockets]);
    if (d->cores)
        str_printf(out, ":%s", order_words[d->cores]);
    if (d->pack)
        str_printf(out, ",%s", pack_words[d->pack]);
}

bool dist_is_packed(const struct dist *d, bool otherwise)
{
    if (d->nodes > DIST_NODES_BLOCK)
        return false;
    return d->pack ? d->pack == DIST_PACK : otherwise;
}

uint32_t dist_round(const struct dist *d)
{
    return d->nodes == DIST_PLANE && d->plane ? d->plane : 1;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void deal_packed_tasks(uint32_t tasks, const uint32_t *cap, size_t n, uint32_t *out)
{
    uint32_t left = tasks;

    for (size_t i = 0; i < n; i++)
        left -= out[i] = cap[i] && left;
    for (size_t i = 0; i < n; i++) {
        uint32_t more = min_u32(cap[i] - out[i], left);

        out[i] += more;
        left -= more;
    }
    assert(left == 0);
}

void dist_deal_tasks(const struct dist *d, bool packed, uint32_t tasks, const uint32_t *cap,
                     size_t n, uint32_t *out)
{
    uint32_t left = tasks, empty = 0; /* empty: nodes without a task, each of which gets one */
    uint32_t round = dist_round(d);

    if (packed) {
        deal_packed_tasks(tasks, cap, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        empty += cap[i] > 0;
    }
    while (left) {
        uint32_t before = left;

        for (size_t i = 0; i < n && left; i++) {
            empty -= cap[i] && !out[i];
            uint32_t spare = left > empty ? left - empty : 1;
            uint32_t more = min_u32(min_u32(cap[i] - out[i], round), spare);
            out[i] += more;
            left -= more;
        }
        assert(left < before);
    }
}
