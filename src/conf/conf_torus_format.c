/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of toruses for "scontrol show topology" and "scontrol show topoconf". */
#include "conf/conf_topo_file.h"

/* Prints the nodes of 'count' cells from number 'first' on, in the order of the cells; empty cells
 * are skipped. */
static void put_cell_nodes(const struct conf *c, const struct conf_switch *s, size_t first,
                           size_t count, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    for (size_t i = first; i < first + count; i++)
        if (s->cells.data[i] != CONF_NO_NODE)
            hostlist_push(list, c->nodes.data[s->cells.data[i]].name);
    hostlist_format(list, out);
}

static void put_axes(const uint32_t axes[CONF_AXES], char separator, struct str *out)
{
    for (size_t i = 0; i < CONF_AXES; i++)
        str_printf(out, "%.*s%u", i ? 1 : 0, &separator, axes[i]);
}

void conf_torus_format(const struct conf *c, const struct conf_switch *s, size_t number,
                       struct str *out)
{
    str_printf(out, "TorusName=%s TorusIndex=%zu Nodes=", s->name, number);
    put_cell_nodes(c, s, 0, s->cells.len, out);
    str_printf(out, " TorusSize=%zu Dims=", bitset_count(s->node_set));
    put_axes(s->dims, 'x', out);
    str_puts(out, " Placements=");
    for (size_t i = 0; i < s->placements.len; i++) {
        if (i)
            str_putc(out, ',');
        put_axes(s->placements.data[i].dims, 'x', out);
    }
    str_putc(out, '\n');
}

/* --- topology.yaml ---------------------------------------------------------------------------- */

static void put_object(const char *key, const uint32_t axes[CONF_AXES], struct str *out)
{
    str_printf(out, "%s: {x: %u, y: %u, z: %u}\n", key, axes[0], axes[1], axes[2]);
}

/* Prints consecutive nodes of a row of cells. */
static void put_region(const struct conf *c, const struct conf_switch *s, size_t first,
                       size_t count, struct str *out)
{
    const uint32_t *d = s->dims;
    uint32_t cell = (uint32_t)first, len[CONF_AXES] = {(uint32_t)count, 1, 1};
    uint32_t anchor[CONF_AXES] = {cell % d[0], cell / d[0] % d[1], cell / d[0] / d[1]};
    str_puts(out, "          - ");
    put_object("anchor", anchor, out);
    str_puts(out, "            ");
    put_object("dims", len, out);
    str_puts(out, "            nodes: \"");
    put_cell_nodes(c, s, first, count, out);
    str_puts(out, "\"\n");
}

/* Prints a torus with empty cells as rows of cells, each up to the next empty cell. */
static void put_regions(const struct conf *c, const struct conf_switch *s, struct str *out)
{
    str_puts(out, "        regions:\n");
    for (size_t i = 0, count = 0; i < s->cells.len; i += count + 1) {
        size_t end = (i / s->dims[0] + 1) * s->dims[0];
        for (count = 0; i + count < end && s->cells.data[i + count] != CONF_NO_NODE;)
            count++;
        if (!count)
            continue;
        put_region(c, s, i, count, out);
        if (i + count == end)
            i--;
    }
}

void conf_torus_format_yaml(const struct conf *c, const struct conf_switch *s, struct str *out)
{
    static const uint32_t origin[CONF_AXES];
    size_t nodes = bitset_count(s->node_set);
    str_printf(out, "      - name: %s\n        ", s->name);
    put_object("dims", s->dims, out);
    if (nodes == s->cells.len) {
        str_puts(out, "        nodes: \"");
        put_cell_nodes(c, s, 0, nodes, out);
        str_puts(out, "\"\n");
    } else if (nodes) {
        put_regions(c, s, out);
    }
    if (s->placements.len)
        str_puts(out, "        placements:\n");
    vec_foreach (&s->placements, p) {
        str_puts(out, "          - ");
        put_object("dims", p->dims, out);
        if (memcmp(p->seed, origin, sizeof origin) != 0) {
            str_puts(out, "            ");
            put_object("anchor_seed", p->seed, out);
        }
        if (memcmp(p->spacing, p->dims, sizeof p->dims) != 0) {
            str_puts(out, "            ");
            put_object("anchor_spacing", p->spacing, out);
        }
    }
}
