/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of sinfo for grouped nodes with only the requested fields equals its output for the
 * same nodes one by one with all fields: tested on random clusters with all kinds of options. */
#include "cmd/sinfo/table.h"

#include <unistd.h>

#include "cli/cmd.h"
#include "cluster/cluster_test_util.h"
#include "cluster/node/node_list.h"

#define DRAWS 12

static uint64_t seed = 11;

static uint32_t draw_between(uint32_t first, uint32_t last)
{
    return test_between(&seed, first, last);
}

static bool draw_chance(uint32_t percent)
{
    return draw_between(1, 100) <= percent;
}

/* Blocks of nodes; some are numbered, some have different features, ports or hosts. */
static void draw_nodes(struct str *conf)
{
    static const struct {
        const char *prefix;
        int width;
    } names[] = {{"n", 1}, {"lx", 3}, {"r1c", 1}, {"r2c0", 2}};
    uint32_t lines = draw_between(1, COUNT(names)), first = draw_between(0, 9);
    str_puts(conf, "GresTypes=gpu\n");
    for (uint32_t i = 0; i < lines; i++) {
        str_printf(conf, "NodeName=%s[%0*u-%0*u]", names[i].prefix, names[i].width, first,
                   names[i].width, first + draw_between(1, 30));
        str_printf(conf, " CPUs=%u RealMemory=%u Weight=%u", draw_between(1, 3) * 4,
                   draw_between(1, 2) * 1000, draw_between(1, 2));
        if (draw_chance(30))
            str_puts(conf, " TmpDisk=500 Gres=gpu:2");
        if (draw_chance(40))
            str_printf(conf, " Features=f%u,g", draw_between(1, 2));
        if (draw_chance(30))
            str_puts(conf, " NodeAddr=127.0.0.1");
        if (draw_chance(20))
            str_puts(conf, " NodeHostname=localhost");
        if (draw_chance(20))
            str_printf(conf, " State=%s", draw_chance(50) ? "FUTURE" : "CLOUD");
        str_putc(conf, '\n');
    }
    str_puts(conf, "NodeName=alone CPUs=2\n");
}

/* Partitions share nodes; some nodes are in no partition. */
static void draw_parts(struct str *conf)
{
    static const char *const sets[] = {"ALL", "alone", "n[0-200]", "Nothing"};
    struct cluster *c = test_cluster(str_cstr(conf));
    uint32_t parts = draw_between(1, 5);
    for (uint32_t i = 0; i < parts; i++) {
        const char *set = sets[draw_between(0, 3)];
        str_printf(conf, "PartitionName=p%u Nodes=", i);
        if (str_eq(set, "ALL") || str_eq(set, "alone"))
            str_puts(conf, set);
        uint32_t share = draw_between(0, 100);
        bool any = false;
        for (size_t k = 0; k < c->nodes.len && str_starts(set, "n"); k++)
            if (draw_chance(share)) {
                str_printf(conf, "%s%s", any ? "," : "", c->nodes.data[k]->name);
                any = true;
            }
        str_printf(conf, "%s%s%s\n", i == 0 ? " Default=YES" : "",
                   draw_chance(20) ? " Hidden=YES" : "", draw_chance(30) ? " MaxTime=60" : "");
    }
    test_cluster_free(c);
}

static void draw_node(struct node *n)
{
    static const char *const reasons[] = {"broken", "loose cable", "a,b"};
    Pb__NodeRegister seen = PB__NODE_REGISTER__INIT;
    n->registered = n->connected = draw_chance(80);
    n->down = draw_chance(10);
    n->drain = draw_chance(15);
    n->fail = draw_chance(5);
    n->dynamic = draw_chance(10);
    if (n->registered) {
        seen.name = seen.incarnation = (char *)"x";
        seen.version = (char *)(draw_chance(90) ? "1.0" : "0.9");
        seen.os = (char *)"Linux";
        pb_pack(&seen.base, &n->seen);
        n->free_mem_mib = draw_between(1, 3) * 100;
        n->load_centi = draw_between(0, 2);
    }
    if (n->down || n->drain || draw_chance(5))
        node_set_reason(n, reasons[draw_between(0, 2)], draw_between(0, 1),
                        1000000 + draw_between(0, 1));
    if (draw_chance(30)) {
        n->jobs = draw_between(1, 2);
        n->free_units -= draw_between(1, n->units);
        n->used.mem_mib = draw_between(0, 2) * 100;
        n->completing = draw_chance(30) ? n->jobs : 0;
        n->completing_units = n->completing ? n->units - n->free_units : 0;
        n->exclusive = draw_chance(30);
    }
    if (draw_chance(10))
        n->weight = 77;
    if (draw_chance(10)) {
        free(n->comment);
        free(n->extra);
        n->comment = mem_strdup("seen to");
        n->extra = mem_strdup("more");
    }
}

static struct cluster *draw_cluster(void)
{
    _cleanup_str_ struct str conf = STR_INIT;
    draw_nodes(&conf);
    draw_parts(&conf);
    struct cluster *c = test_cluster(str_cstr(&conf));
    bool calm = draw_chance(30);
    vec_foreach (&c->nodes, n)
        if (!calm || draw_chance(3))
            draw_node(*n);
    return c;
}

/* Takes the controller's replies, in small parts. */
static size_t take_node_replies(const struct cluster *c, struct table *t, bool grouped)
{
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    struct node_query query = {.fields = PB_ALL_FIELDS};
    struct bitset *nodes = NULL;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    size_t elements = 0;
    bool more = true;
    vec_foreach (&c->parts, p) {
        struct str packed = STR_INIT;
        part_pack(c, *p, &packed);
        pb_pack_field(1, packed.data, packed.len, &out);
        str_done(&packed);
    }
    table_take_parts(t, arena_unpack(&t->arena, &pb__part_list__descriptor, out.data, out.len));
    table_ask(t, &filter);
    if (grouped && filter.n_fields) {
        query.fields = pb_fields_read(filter.fields, filter.n_fields);
        query.group = filter.group;
    }
    if (filter.nodes && cluster_node_set(c, filter.nodes, &nodes, NULL) == 0)
        query.nodes = nodes;
    while (more) {
        str_clear(&out);
        more = node_list(c, &query, &cursor, 700, &out);
        const Pb__NodeList *list =
            arena_unpack(&t->arena, &pb__node_list__descriptor, out.data, out.len);
        assert_non_null(list);
        elements += list->n_nodes;
        assert_int_equal(table_take_nodes(t, (Pb__NodeList *)list, NULL), 0);
    }
    bitset_free(nodes);
    str_done(&out);
    return elements;
}

static size_t print_table(const struct cluster *c, const struct options *o, bool grouped,
                          struct str *out)
{
    struct table t;
    table_init(&t, o);
    size_t elements = take_node_replies(c, &t, grouped);
    table_print(&t, "test", out);
    table_done(&t);
    return elements;
}

/* Options as a line of words. */
static void check_output(const struct cluster *c, const char *line)
{
    _cleanup_str_ struct str one_by_one = STR_INIT, in_groups = STR_INIT;
    _cleanup_free_ char *copy = mem_printf("sinfo %s", line);
    struct options o;
    char *argv[32], *rest = copy, *word;
    int argc = 0;
    while ((word = strsep(&rest, " ")))
        if (*word)
            argv[argc++] = word;
    argv[argc] = NULL;
    assert_int_equal(options_parse(&o, argc, argv), 0);
    size_t all = print_table(c, &o, false, &one_by_one);
    size_t sent = print_table(c, &o, true, &in_groups);
    assert_true(sent <= all);
    if (!str_eq(str_cstr(&one_by_one), str_cstr(&in_groups)))
        fail_msg("sinfo %s: one by one\n%s\nin groups\n%s", line, str_cstr(&one_by_one),
                 str_cstr(&in_groups));
}

static void test_each_option_shows_the_nodes_of_the_model(void **state)
{
    static const char *const lines[] = {
        "",
        "-h",
        "-a",
        "-l -h",
        "-s",
        "-N",
        "-N -l -h",
        "-R",
        "-R -l -h",
        "-e",
        "-e -h -o %c|%D|%N",
        "-r",
        "-d",
        "-F",
        "-p p0",
        "-p p1,p0 -h",
        "-p nosuch",
        "-n n3,alone",
        "-n lx[001-020] -N",
        "-t idle",
        "-t down,drain",
        "-t idle&drain",
        "-N -t alloc -o %N|%t|%C",
        "-h -o %D",
        "-h -o %N",
        "-h -o %a|%C|%D|%N",
        "-h -o %F|%A|%C",
        "-h -o %n",
        "-h -o %o|%N",
        "-h -o %P|%n -S n",
        "-h -o %D -S n",
        "-h -o %D|%N -S -w,c",
        "-h -S -P,t -o %P|%t|%D|%N",
        "-h -O NodeList:40,Port",
        "-h -O Port,NodeList:40",
        "-h -o %all",
        "-a -h -O all",
        "-a -e -O Memory,CPUs,NodeList:60",
        "-h -S N",
        "-N -h -S -N",
        "--json",
        "--json -p p0",
        "--yaml -a",
        "-a -N -O all",
    };
    for (size_t i = 0; i < DRAWS; i++) {
        struct cluster *c = draw_cluster();
        for (size_t k = 0; k < COUNT(lines); k++)
            check_output(c, lines[k]);
        test_cluster_free(c);
    }
}

/* Each column declares the fields that it needs: tested alone, with node names, and as the sort
 * key. */
static void test_each_column_requests_the_fields_it_needs(void **state)
{
    for (size_t i = 0; i < DRAWS; i++) {
        struct cluster *c = draw_cluster();
        for (size_t k = 0; k < node_columns.count; k++) {
            const char *name = node_columns.fields[k].name;
            _cleanup_free_ char *alone = mem_printf("-a -h -O %s:60", name);
            _cleanup_free_ char *both = mem_printf("-a -e -h -O NodeList:90,%s:60", name);
            _cleanup_free_ char *sorted = mem_printf("-a -h -O NodeList:90,Partition -S -%s", name);
            _cleanup_free_ char *by_node = mem_printf("-a -N -h -O %s:60", name);
            check_output(c, alone);
            check_output(c, both);
            check_output(c, sorted);
            check_output(c, by_node);
        }
        test_cluster_free(c);
    }
}

/* Equal nodes arrive as one group. */
static void test_equal_nodes_arrive_as_one_group(void **state)
{
    struct cluster *c = test_cluster("NodeName=n[1-20000] CPUs=4\nPartitionName=a Nodes=ALL\n");
    struct options o = {0};
    _cleanup_str_ struct str out = STR_INIT;
    c->nodes.data[700]->drain = true;
    /* Some records more, for the parts of the reply. */
    assert_int_equal(print_table(c, &o, true, &out), 5 + 2);
    assert_string_equal(str_cstr(&out),
                        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
                        "a            up   infinite      1 drain* n701\n"
                        "a            up   infinite  19999   unk* n[1-700,702-20000]\n");
    test_cluster_free(c);
}

static void test_malformed_node_names_are_refused(void **state)
{
    static char *const names[] = {(char *)"n[1-3]", (char *)"n[1-", (char *)"", (char *)"n1"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct options o = {.all = true};
        struct table t;
        struct err err = {0};
        Pb__NodeRecord node = PB__NODE_RECORD__INIT, *nodes = &node;
        Pb__NodeList list = PB__NODE_LIST__INIT;
        node.name = names[i];
        node.has_count = true;
        node.count = 2;
        list.nodes = &nodes;
        list.n_nodes = 1;
        table_init(&t, &o);
        assert_int_equal(table_take_nodes(&t, &list, &err), -ERR_PROTOCOL);
        assert_true(str_starts(err.text, "malformed answer: 2 nodes are named "));
        assert_int_equal(t.units.len, 0);
        table_done(&t);
    }
}

static char conf_file[] = "/tmp/sluice-table-XXXXXX";

/* JSON names the cluster. */
static void test_filters_select_nodes(void **state)
{
    Pb__NodeRecord idle = PB__NODE_RECORD__INIT, silent = idle, drained = idle;
    struct options o = {.responding = true};
    idle.state = silent.state = drained.state = PB__NODE_BASE__NODE_IDLE;
    silent.no_respond = 1;
    drained.drain = 1;
    drained.reason = "disk";
    assert_true(options_match(&o, &idle));
    assert_false(options_match(&o, &silent));
    o = (struct options){.dead = true};
    assert_false(options_match(&o, &idle));
    assert_true(options_match(&o, &silent));
    o = (struct options){.reasons = true};
    assert_false(options_match(&o, &idle));
    assert_true(options_match(&o, &drained));
}

static int make_conf(void **state)
{
    static const char text[] = "ClusterName=test\nSlurmctldHost=ctl\n";
    int fd = mkstemp(conf_file);
    setenv("SLURM_CONF", conf_file, 1);
    setenv("TZ", "UTC", 1);
    return fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) < 0;
}

static int remove_conf(void **state)
{
    return unlink(conf_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_option_shows_the_nodes_of_the_model),
        cmocka_unit_test(test_each_column_requests_the_fields_it_needs),
        cmocka_unit_test(test_equal_nodes_arrive_as_one_group),
        cmocka_unit_test(test_malformed_node_names_are_refused),
        cmocka_unit_test(test_filters_select_nodes),
    };
    cmd_start("sinfo");
    return cmocka_run_group_tests(tests, make_conf, remove_conf);
}
