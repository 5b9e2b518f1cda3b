/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "conf/conf_test_util.h"

#define LOAD(text) test_load(HEAD text, NULL)

static void invalid_node_lines_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {HEAD "NodeName=\n", "t.conf:2: ", "NodeName has no value"},
        {HEAD "NodeName=a NodeName=b\n", "t.conf:2: ", "NodeName twice"},
        {HEAD "NodeName=a[1-\n", "t.conf:2: ", "NodeName=a[1-"},
        {HEAD "NodeName=a[0-999999999]\n", "t.conf:2: ", "NodeName=a[0-999999999]"},
        {HEAD "NodeName=a[1-150000]\nNodeName=b[1-50001]\n", "t.conf:3: ", "more than 200000"},
        {HEAD "NodeName=ALL\n", "t.conf:2: ", "reserved word"},
        {HEAD "NodeName=a,default\n", "t.conf:2: ", "reserved word"},
        {HEAD "NodeName=../etc\n", "t.conf:2: ", "letters, digits"},
        {HEAD "NodeName=.hidden\n", "t.conf:2: ", "begins with"},
        {HEAD "NodeName=a\nNodeName=b,a\n", "t.conf:3: ",
         "NodeName=a is defined twice, first at "
         "t.conf:2"},
        {HEAD "NodeName=a[1-3],a2\n", "t.conf:2: ", "NodeName=a2 is defined twice"},
        {HEAD "NodeName=a[1-3] NodeAddr=b[1-2]\n", "t.conf:2: ", "NodeAddr=b[1-2] has 2 entries"},
        {HEAD "NodeName=a[1-3] NodeHostname=b[1-4]\n", "t.conf:2: ", "for the 3 nodes"},
        {HEAD "NodeName=a[1-3] Port=[7001-7002]\n", "t.conf:2: ", "Port=[7001-7002]"},
        {HEAD "NodeName=a[1-3] BcastAddr=b[1-2]\n", "t.conf:2: ", "BcastAddr=b[1-2] has 2 entries"},
        {HEAD "NodeName=a Port=0\n", "t.conf:2: ", "'0' is not a port"},
        {HEAD "NodeName=a[1-2] Port=[65535-65536]\n", "t.conf:2: ", "'65536' is not a port"},
        {HEAD "NodeName=a Port=ssh\n", "t.conf:2: ", "'ssh' is not a port"},
        {HEAD "NodeName=a CPUs=x\n", "t.conf:2: ", "CPUs=x: expected a whole number"},
        {HEAD "NodeName=a CPUs=0\n", "t.conf:2: ", "CPUs=0: out of range"},
        {HEAD "NodeName=a RealMemory=0\n", "t.conf:2: ", "RealMemory=0"},
        {HEAD "NodeName=a RealMemory=lots\n", "t.conf:2: ", "RealMemory=lots"},
        {HEAD "NodeName=a Weight=heavy\n", "t.conf:2: ", "Weight=heavy"},
        {HEAD "NodeName=a State=BROKEN\n", "t.conf:2: ", "expected UNKNOWN, DOWN"},
        {HEAD "NodeName=a MemSpecLimit=x\n", "t.conf:2: ", "MemSpecLimit=x"},
        {HEAD "NodeName=DEFAULT Weight=heavy\n\nNodeName=a\n", "t.conf:2: ", "Weight=heavy"},
        {HEAD "NodeName=a Reason=disk full\n", "t.conf:2: ", "'full' is not of the form"},
        {HEAD "NodeName=a Reason=\"disk full\n", "t.conf:2: ", "Reason: a quote is opened"},
        {HEAD "NodeName=a Reason=\"disk\"full\n", "t.conf:2: ", "follows the closing quote"},
        {HEAD "NodeName=a\nDownNodes=b\n", "t.conf:3: ", "node b is not defined"},
        {HEAD "NodeName=a\nDownNodes=a State=SAD\n", "t.conf:3: ", "State=SAD"},
    };

    (void)state;
    test_refused(cases, COUNT(cases));
}

static void contradictory_cpu_counts_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {HEAD "NodeName=a CPUs=7 Sockets=2 CoresPerSocket=2\n",
         "t.conf:2: ", "CPUs=7 contradicts Sockets*CoresPerSocket*ThreadsPerCore=2*2*1=4"},
        {HEAD "NodeName=a CPUs=16 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2\n",
         "t.conf:2: ", "CPUs=16 contradicts"},
        {HEAD "NodeName=a CPUs=6 CoresPerSocket=4\n", "t.conf:2: ", "not a multiple"},
        {HEAD "NodeName=a CPUs=7 Sockets=2\n", "t.conf:2: ", "not a multiple of Sockets"},
        {HEAD "NodeName=a Sockets=2 SocketsPerBoard=2\n", "t.conf:2: ", "exclude each other"},
        {HEAD "NodeName=a Boards=1024 SocketsPerBoard=65535 CoresPerSocket=65535\n",
         "t.conf:2: ", "too many"},
        {HEAD "NodeName=a Sockets=65535 CoresPerSocket=65535\n", "t.conf:2: ", "too many"},
    };

    (void)state;
    test_refused(cases, COUNT(cases));
}

static void doubtful_node_lines_are_warned_about(void **state)
{
    static const struct test_refusal cases[] = {
        {HEAD "NodeName=a RealMemroy=5\n", "t.conf:2: ", "did you mean RealMemory?"},
        {HEAD "NodeName=a CPUs=2 Procs=3\n", "t.conf:2: ", "CPUs is given twice"},
        {HEAD "NodeName=a[1-3] NodeAddr=x,y,x\n",
         "t.conf:2: ", "both have address x and port 6818"},
        {HEAD "NodeName=a[1-3] NodeHostname=x\n",
         "t.conf:2: ", "both have address x and port 6818"},
        {HEAD "NodeName=a InstanceId=1\nNodeName=b InstanceId=1\n",
         "t.conf:2: ", "InstanceId of NodeName is accepted for compatibility"},
    };

    (void)state;
    test_warned(cases, COUNT(cases));
}

static void unusual_node_lines_give_no_warning(void **state)
{
    static const char *const texts[] = {
        HEAD "NodeName=a[1-2] NodeHostname=x Port=[1-2]\nNodeName=b[1-2] NodeAddr=y,z\n",
        HEAD
        "NodeName=a[1-2] NodeHostname=x State=FUTURE\nNodeName=b[1-2] NodeAddr=y State=CLOUD\n",
        HEAD "NodeName=a[1-2] NodeHostname=x NodeAddr=10.0.0.[1-2]\n",
    };

    (void)state;
    test_silent(texts, COUNT(texts));
}

static void cpu_counts_follow_from_the_line(void **state)
{
    static const struct {
        const char *keys;
        uint32_t cpus, boards, sockets, cores, threads;
    } cases[] = {
        {"", 1, 1, 1, 1, 1},
        {"CPUs=4", 4, 1, 4, 1, 1},
        {"Procs=4", 4, 1, 4, 1, 1},
        {"Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16, 1, 2, 4, 2},
        {"CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16, 1, 2, 4, 2},
        {"CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 8, 1, 2, 4, 2}, /* counts cores */
        {"CPUs=8 CoresPerSocket=4", 8, 1, 2, 4, 1},
        {"CPUs=16 CoresPerSocket=4 ThreadsPerCore=2", 16, 1, 2, 4, 2},
        {"CPUs=4 CoresPerSocket=4 ThreadsPerCore=2", 4, 1, 1, 4, 2},
        {"CPUs=8 Sockets=2", 8, 1, 2, 4, 1},
        {"CPUs=2 Sockets=2", 2, 1, 2, 1, 1},
        {"CPUs=4 ThreadsPerCore=2", 4, 1, 2, 1, 2},
        {"Boards=2 SocketsPerBoard=2 CoresPerSocket=3", 12, 2, 4, 3, 1},
        {"Boards=2 Sockets=2", 4, 2, 4, 1, 1},
        {"Boards=2 CPUs=8", 8, 2, 8, 1, 1},
        {"CoresPerSocket=6", 6, 1, 1, 6, 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "NodeName=a %s\n", cases[i].keys);
        struct conf *c = test_load(text, NULL);
        const struct conf_node_row *r = &c->node_rows.data[0];
        if (r->cpus != cases[i].cpus || r->boards != cases[i].boards ||
            r->sockets != cases[i].sockets || r->cores != cases[i].cores ||
            r->threads != cases[i].threads)
            fail_msg("'%s' gave %u=%u(boards) %u*%u*%u", cases[i].keys, r->cpus, r->boards,
                     r->sockets, r->cores, r->threads);
        conf_free(c);
    }
}

/* A line's own values override what a DEFAULT line says in other terms. */
static void cpu_counts_follow_from_default_lines(void **state)
{
    struct conf *c = LOAD("NodeName=DEFAULT CPUs=4\nNodeName=a Sockets=2 CoresPerSocket=8\n"
                          "NodeName=DEFAULT Sockets=2 CoresPerSocket=2\nNodeName=b CPUs=6\n"
                          "NodeName=c\n");

    (void)state;
    assert_int_equal(c->node_rows.data[0].cpus, 16);
    assert_int_equal(c->node_rows.data[1].cpus, 6);
    assert_int_equal(c->node_rows.data[1].sockets, 6);
    assert_int_equal(c->node_rows.data[2].cpus, 4);
    assert_int_equal(c->node_rows.data[2].sockets, 2);
    conf_free(c);
}

static void node_has_defaults(void **state)
{
    struct conf *c = LOAD("NodeName=a\nSlurmdPort=7777\n");
    const struct conf_node *n = &c->nodes.data[0];
    const struct conf_node_row *r = &c->node_rows.data[0];

    (void)state;
    assert_string_equal(n->name, "a");
    assert_string_equal(n->hostname, "a");
    assert_string_equal(n->addr, "a");
    assert_int_equal(n->port, 7777); /* although it comes later in the file */
    assert_int_equal(r->real_memory_mib, 1);
    assert_int_equal(r->tmp_disk_mib, 0);
    assert_int_equal(r->weight, 1);
    assert_int_equal(r->state, CONF_NODE_UNKNOWN);
    assert_null(r->features);
    assert_string_equal(r->file, "t.conf");
    assert_int_equal(r->line, 2);
    conf_free(c);
}

static void default_lines_apply_to_later_nodes(void **state)
{
    struct conf *c = LOAD("NodeName=a\n"
                          "nodename=default Weight=5 RealMemory=2G\n"
                          "NodeName=b Weight=6\n"
                          "NodeName=DEFAULT TmpDisk=7 Features=x\n"
                          "NodeName=c Feature=y,z State=drained Reason=\"bad # disk\"\n");
    const struct conf_node_row *r = c->node_rows.data;

    (void)state;
    assert_int_equal(c->nodes.len, 3);
    assert_int_equal(r[0].weight, 1);
    assert_int_equal(r[1].weight, 6);
    assert_int_equal(r[1].real_memory_mib, 2048);
    assert_int_equal(r[1].tmp_disk_mib, 0);
    assert_int_equal(r[2].weight, 5);
    assert_int_equal(r[2].real_memory_mib, 2048);
    assert_int_equal(r[2].tmp_disk_mib, 7);
    assert_string_equal(r[2].features, "y,z");
    assert_int_equal(r[2].state, CONF_NODE_DRAIN);
    assert_string_equal(r[2].reason, "bad # disk");
    conf_free(c);
}

static void lists_of_addresses_and_ports_match_the_names(void **state)
{
    struct conf *c = LOAD("NodeName=n[01-03] NodeHostname=localhost NodeAddr=127.0.0.[1-3] "
                          "Port=[6821-6823] BcastAddr=ib[1-3]\n"
                          "NodeName=p1,p2 Port=7000-7001\n"
                          "NodeName=q1,q2 NodeHostname=x,y Port=8000\n");
    static const struct {
        const char *name, *host, *addr;
        int port, row;
    } expect[] = {
        {"n01", "localhost", "127.0.0.1", 6821, 0},
        {"n02", "localhost", "127.0.0.2", 6822, 0},
        {"n03", "localhost", "127.0.0.3", 6823, 0},
        {"p1", "p1", "p1", 7000, 1},
        {"p2", "p2", "p2", 7001, 1},
        {"q1", "x", "x", 8000, 2},
        {"q2", "y", "y", 8000, 2},
    };

    (void)state;
    assert_int_equal(c->nodes.len, COUNT(expect));
    for (size_t i = 0; i < COUNT(expect); i++) {
        const struct conf_node *n = &c->nodes.data[i];
        assert_string_equal(n->name, expect[i].name);
        assert_string_equal(n->hostname, expect[i].host);
        assert_string_equal(n->addr, expect[i].addr);
        assert_int_equal(n->port, expect[i].port);
        assert_int_equal(n->row, expect[i].row);
        assert_int_equal(conf_find_node(c, expect[i].name), i);
    }
    assert_string_equal(c->nodes.data[1].bcast_addr, "ib2");
    assert_string_equal(c->nodes.data[5].bcast_addr, "x");
    assert_int_equal(conf_find_node(c, "n1"), -1);
    assert_int_equal(conf_find_node(c, "N01"), -1);
    assert_int_equal(conf_find_node(c, ""), -1);
    conf_free(c);
}

static void down_nodes_lines_set_states(void **state)
{
    struct conf *c = LOAD("NodeName=n[1-4] Weight=3\n"
                          "DownNodes=n[2-3],n2 State=DRAIN Reason=\"fan\"\nDownNodes=n4\n");
    const struct conf_node_row *rows = c->node_rows.data;
    const struct conf_node *n = c->nodes.data;

    (void)state;
    assert_int_equal(rows[n[0].row].state, CONF_NODE_UNKNOWN);
    assert_int_equal(rows[n[1].row].state, CONF_NODE_DRAIN);
    assert_string_equal(rows[n[1].row].reason, "fan");
    assert_int_equal(n[1].row, n[2].row);
    assert_int_equal(rows[n[2].row].weight, 3);
    assert_int_equal(rows[n[3].row].state, CONF_NODE_DOWN);
    assert_null(rows[n[0].row].reason);
    conf_free(c);
}

/* CONF_NODE: the one node, regardless of errors in others. */
static void node_daemon_reads_its_own_line_only(void **state)
{
    static const char text[] = HEAD "NodeName=bad CPUs=3 Sockets=2\n"
                                    "NodeName=n[1-9] Port=[7001-7009] Gres=gpu:2\n"
                                    "NodeName=me NodeHostname=localhost\n"
                                    "PartitionName=p Nodes=nobody\n";
    struct conf *c = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(conf_load_text(text, strlen(text), "t.conf", CONF_NODE, "n7", &c, NULL, &err),
                     0);
    assert_int_equal(c->nodes.len, 1);
    assert_int_equal(c->node_rows.len, 1);
    assert_int_equal(c->parts.len, 0);
    assert_string_equal(c->nodes.data[0].name, "n7");
    assert_int_equal(c->nodes.data[0].port, 7007);
    assert_string_equal(c->node_rows.data[c->nodes.data[0].row].gres, "gpu:2");
    assert_int_equal(conf_find_node(c, "n7"), 0);
    assert_int_equal(conf_find_node(c, "n8"), -1);
    conf_free(c);

    c = NULL;
    assert_int_equal(conf_load_text(text, strlen(text), "t.conf", CONF_NODE, NULL, &c, NULL, &err),
                     0);
    assert_string_equal(c->nodes.data[0].name, "me"); /* no line has the name of this host */
    conf_free(c);

    c = NULL;
    assert_int_equal(conf_load_text(text, strlen(text), "t.conf", CONF_NODE, "n10", &c, NULL, &err),
                     -ERR_CONFIG);
    assert_null(c);
    assert_non_null(strstr(err.text, "no NodeName line defines n10"));
}

static void node_daemon_finds_its_line_by_host_name(void **state)
{
    char host[256] = "";
    struct conf *c = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    _cleanup_free_ char *text =
        mem_printf(HEAD "NodeName=a NodeHostname=localhost\nNodeName=b NodeHostname=%s\n", host);
    assert_int_equal(conf_load_text(text, strlen(text), "t.conf", CONF_NODE, NULL, &c, NULL, &err),
                     0);
    assert_string_equal(c->nodes.data[0].name, "b");
    conf_free(c);

    c = NULL;
    static const char none[] = HEAD "NodeName=not-this-host-at-all\n";
    assert_int_equal(conf_load_text(none, strlen(none), "t.conf", CONF_NODE, NULL, &c, NULL, &err),
                     -ERR_CONFIG);
    assert_non_null(strstr(err.text, "-N NODENAME"));
}

/* CONF_CLIENT: rows are not parsed at all. */
static void clients_skip_node_lines(void **state)
{
    static const char text[] = HEAD "NodeName=a[1- CPUs=x\nPartitionName=p Nodes=[\nKillWait=7\n";
    struct conf *c = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(
        conf_load_text(text, strlen(text), "t.conf", CONF_CLIENT, NULL, &c, NULL, &err), 0);
    assert_int_equal(c->nodes.len, 0);
    assert_int_equal(c->parts.len, 0);
    assert_int_equal(c->kill_wait_sec, 7);
    assert_int_equal(conf_find_node(c, "a1"), -1);
    assert_int_equal(conf_find_part(c, "p"), -1);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_node_lines_are_refused),
        cmocka_unit_test(contradictory_cpu_counts_are_refused),
        cmocka_unit_test(doubtful_node_lines_are_warned_about),
        cmocka_unit_test(unusual_node_lines_give_no_warning),
        cmocka_unit_test(cpu_counts_follow_from_the_line),
        cmocka_unit_test(cpu_counts_follow_from_default_lines),
        cmocka_unit_test(node_has_defaults),
        cmocka_unit_test(default_lines_apply_to_later_nodes),
        cmocka_unit_test(lists_of_addresses_and_ports_match_the_names),
        cmocka_unit_test(down_nodes_lines_set_states),
        cmocka_unit_test(node_daemon_reads_its_own_line_only),
        cmocka_unit_test(node_daemon_finds_its_line_by_host_name),
        cmocka_unit_test(clients_skip_node_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
