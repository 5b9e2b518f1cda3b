/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records other than jobs, nodes and partitions, as text and as JSON, without a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pb.h"
#include "show/hres.h"
#include "show/show.h"

/* Frees 'out' after the comparison with the text. */
static void expect_text(struct str *out, const char *text)
{
    assert_string_equal(str_cstr(out), text);
    str_done(out);
}

static void expect_json(json_t *value, const char *text)
{
    char *dump = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(dump, text);
    free(dump);
    json_decref(value);
}

static void controllers_are_primary_backup_or_numbered(void **state)
{
    static const struct {
        size_t rank, count;
        bool is_up;
        const char *text, *mode;
    } rows[] = {
        {0, 1, true, "Slurmctld(primary) at a is UP\n", "primary"},
        {1, 2, false, "Slurmctld(backup) at a is DOWN\n", "backup"},
        {1, 3, true, "Slurmctld(backup1) at a is UP\n", "backup1"},
        {2, 3, true, "Slurmctld(backup2) at a is UP\n", "backup2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct show_ping ping = {"a", rows[i].rank, rows[i].count, rows[i].is_up, 5};
        struct str out = STR_INIT;
        show_ping_text(&ping, &out);
        expect_text(&out, rows[i].text);
        json_t *json = show_ping_json(&ping);
        assert_string_equal(json_string_value(json_object_get(json, "mode")), rows[i].mode);
        assert_int_equal(json_is_true(json_object_get(json, "responding")), rows[i].is_up);
        assert_int_equal(json_is_true(json_object_get(json, "primary")), rows[i].rank == 0);
        json_decref(json);
    }
}

static void status_names_responding_daemons(void **state)
{
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    struct show_status s = {.cluster = "c", .place = "/d", .daemons = 1, .nodes = 2};
    struct str out = STR_INIT;
    show_status_text(&s, &out);
    expect_text(&out, "cluster     c in /d\nslurmctld   down\nslurmd      1 of 2 run\n");
    s.controller = 9;
    s.fault = "timed out";
    show_status_text(&s, &out);
    expect_text(&out, "cluster     c in /d\nslurmctld   process 9 does not answer: timed out\n"
                      "slurmd      1 of 2 run\n");
    s.stats = &stats;
    s.port = 6817;
    stats.rss_kib = 1025;
    stats.cpu_usec = 1500000;
    stats.nodes_up = 1;
    stats.running = 3;
    stats.pending = 4;
    show_status_text(&s, &out);
    expect_text(&out, "cluster     c in /d\n"
                      "slurmctld   up, process 9, port 6817, 2 MiB resident, 1.50 s of CPU\n"
                      "slurmd      1 of 2 run, 1 node is up\njobs        3 running, 4 pending\n");
}

static void processes_of_a_step_have_a_line_each(void **state)
{
    Pb__StepProcess task = PB__STEP_PROCESS__INIT, child = PB__STEP_PROCESS__INIT;
    Pb__StepProcess *all[] = {&task, &child};
    Pb__StepPids step = PB__STEP_PIDS__INIT;
    struct str out = STR_INIT;
    step.job_id = 7;
    step.step_id = 1;
    step.processes = all;
    step.n_processes = 2;
    task.pid = 100;
    SET(&task, local, 0);
    SET(&task, task, 4);
    child.pid = 101;
    show_pids_titles(&out);
    show_pids_text(&step, &out);
    expect_text(&out, "PID      JOBID    STEPID   LOCALID GLOBALID\n"
                      "100      7        1        0       4       \n"
                      "101      7        1        -       -       \n");
}

static void usage_of_a_node_is_ordered_by_user_and_job(void **state)
{
    Pb__Usage usage = PB__USAGE__INIT;
    Pb__NodeUsageRow rows[3] = {PB__NODE_USAGE_ROW__INIT, PB__NODE_USAGE_ROW__INIT,
                                PB__NODE_USAGE_ROW__INIT};
    Pb__NodeUsageRow *all[] = {&rows[0], &rows[1], &rows[2]};
    Pb__NodeUsage node = PB__NODE_USAGE__INIT;
    struct str out = STR_INIT;
    usage.user_usec = 61000000;
    usage.rss_kib = 2048;
    usage.rss_kib_sec = UINT64_C(1024) * 3600;
    rows[0].uid = UINT32_MAX - 1; /* the users that the node does not count separately */
    rows[0].usage = rows[1].usage = rows[2].usage = &usage;
    rows[1].uid = rows[2].uid = 4000000000u;
    SET(&rows[1], job_id, 7);
    node.name = (char *)"n1";
    node.rows = all;
    node.n_rows = 3;
    show_node_usage_text(&node, false, &out);
    expect_text(&out, "n1         4000000000            -     0     00:01:01        2        0"
                      "        0        1.0\n"
                      "n1         4000000000            7     0     00:01:01        2        0"
                      "        0        1.0\n"
                      "n1         others                -     0     00:01:01        2        0"
                      "        0        1.0\n");
}

static Pb__LicenseRecord make_layer(const char *nodes, uint64_t count)
{
    Pb__LicenseRecord l = PB__LICENSE_RECORD__INIT;
    l.name = (char *)"power";
    l.nodes = (char *)nodes;
    SET(&l, mode, 1);
    SET(&l, count, count);
    SET(&l, total, count);
    return l;
}

static void layers_are_a_tree_and_a_file(void **state)
{
    Pb__LicenseRecord plain = PB__LICENSE_RECORD__INIT, small = make_layer("n1", 5),
                      large = make_layer("n[1-2]", UINT64_MAX);
    Pb__LicenseRecord *all[] = {&plain, &small, &large};
    Pb__LicenseList list = PB__LICENSE_LIST__INIT;
    struct str out = STR_INIT;
    plain.name = (char *)"matlab";
    list.licenses = all;
    list.n_licenses = 3;
    assert_false(show_hres_text(&list, "other", &out));
    assert_false(show_hres_text(&list, "matlab", &out));
    expect_text(&out, "");
    assert_true(show_hres_text(&list, NULL, &out));
    expect_text(&out, "power, MODE_1\n"
                      "LAYER         TOTAL         BASE     RESERVED         USED         FREE\n"
                      "n[1-2]     INFINITE            0            0            0     INFINITE\n"
                      "`- n1             5            0            0            0            5\n");
    json_t *trees = show_hres_json(&list, "power");
    json_t *layers = json_object_get(json_array_get(trees, 0), "layers");
    assert_int_equal(json_array_size(layers), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(layers, 0), "Within")),
                        "n[1-2]");
    assert_true(json_is_null(json_object_get(json_array_get(layers, 1), "Within")));
    json_decref(trees);
    show_hres_file(&list, &out);
    expect_text(&out, "---\n- resource: power\n  mode: MODE_1\n  layers:\n"
                      "  - nodes: \"n1\"\n    count: 5\n"
                      "  - nodes: \"n[1-2]\"\n    count: -1\n");
}

static void burst_buffers_are_summed_for_each_user(void **state)
{
    Pb__BurstBuffer buffers[2] = {PB__BURST_BUFFER__INIT, PB__BURST_BUFFER__INIT};
    Pb__BurstBuffer *all[] = {&buffers[0], &buffers[1]};
    Pb__BurstList list = PB__BURST_LIST__INIT;
    struct str out = STR_INIT;
    show_burst_text(&list, &out);
    expect_text(&out, ""); /* no plugin is configured */
    for (size_t i = 0; i < 2; i++) {
        buffers[i].job_id = (uint32_t)i + 1;
        buffers[i].uid = 5;
        SET(&buffers[i], size, 3);
        buffers[i].state = (char *)"staged-in";
    }
    list.plugin = (char *)"lua";
    list.buffers = all;
    list.n_buffers = 2;
    show_burst_text(&list, &out);
    expect_text(
        &out, "Name=lua DefaultPool=(null) Granularity=1 TotalSpace=0 FreeSpace=0 UsedSpace=0\n"
              "  Flags=\n  StageInTimeout=0 StageOutTimeout=0 ValidateTimeout=0 OtherTimeout=0\n"
              "  GetSysState=(null)\n  GetSysStatus=(null)\n  Allocated Buffers:\n"
              "    JobID=1 CreateTime=Unknown Pool=(null) Size=3 State=staged-in UserID=(null)(5)\n"
              "    JobID=2 CreateTime=Unknown Pool=(null) Size=3 State=staged-in UserID=(null)(5)\n"
              "  Per User Buffer Use:\n    UserID=(null)(5) Used=6\n");
}

static void a_node_daemon_that_is_alone_has_no_controller(void **state)
{
    Pb__NodeStatus status = PB__NODE_STATUS__INIT;
    struct str out = STR_INIT;
    status.name = (char *)"n1";
    status.controller = (char *)"ctl";
    show_node_status_text(&status, "", &out);
    expect_text(&out, "Active Steps             = NONE\nNodeName                 = n1\n"
                      "Slurmd start time        = Unknown\n"
                      "Controller               = not connected\n"
                      "Slurmd PID               = 0\nSlurmd Debug             = 0\n"
                      "Slurmd Logfile           = NONE\n\n");
}

static void statistics_have_the_numbers_and_the_order_of_slurm(void **state)
{
    Pb__DiagCounters counters = PB__DIAG_COUNTERS__INIT;
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    Pb__DiagRpc rpcs[2] = {PB__DIAG_RPC__INIT, PB__DIAG_RPC__INIT};
    Pb__DiagRpc *all[] = {&rpcs[0], &rpcs[1]};
    Pb__DiagReply reply = PB__DIAG_REPLY__INIT;
    rpcs[0].number = 60000; /* Slurm has no such request */
    rpcs[0].name = (char *)"OWN";
    rpcs[0].count = 2;
    rpcs[0].total_usec = 10;
    rpcs[1].number = 1; /* PING */
    rpcs[1].name = (char *)"PING";
    rpcs[1].count = 1;
    rpcs[1].total_usec = 20;
    reply.counters = &counters;
    reply.stats = &stats;
    reply.rpcs = all;
    reply.n_rpcs = 2;
    static const struct {
        enum show_diag_order order;
        const char *first;
    } orders[] = {{SHOW_DIAG_BY_COUNT, "OWN"},
                  {SHOW_DIAG_BY_NUMBER, "REQUEST_PING"},
                  {SHOW_DIAG_BY_TOTAL, "REQUEST_PING"},
                  {SHOW_DIAG_BY_AVERAGE, "REQUEST_PING"}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        show_diag_sort(&reply, orders[i].order);
        assert_string_equal(reply.rpcs[0]->name, orders[i].first);
    }
    json_t *json = show_diag_json(&reply);
    json_t *first = json_array_get(json_object_get(json, "rpcs_by_message_type"), 0);
    assert_int_equal(json_integer_value(json_object_get(first, "type_id")), 1008);
    expect_json(json_incref(json_object_get(first, "average_time")),
                "{\"infinite\":false,\"number\":20,\"set\":true}");
    pb_each_field (&pb__diag_counters__descriptor, f)
        if (strcmp(f->name, "since_sec") != 0 && !json_object_get(json, f->name))
            fail_msg("proto/counter.def has no row %s", f->name);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_are_primary_backup_or_numbered),
        cmocka_unit_test(status_names_responding_daemons),
        cmocka_unit_test(processes_of_a_step_have_a_line_each),
        cmocka_unit_test(usage_of_a_node_is_ordered_by_user_and_job),
        cmocka_unit_test(layers_are_a_tree_and_a_file),
        cmocka_unit_test(burst_buffers_are_summed_for_each_user),
        cmocka_unit_test(a_node_daemon_that_is_alone_has_no_controller),
        cmocka_unit_test(statistics_have_the_numbers_and_the_order_of_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
