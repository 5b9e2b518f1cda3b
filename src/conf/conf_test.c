/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/conf_test_util.h"

/* The sample of the report of 2002, section 2.2, as printed. */
static const char sample[] =
    "# # Sample /etc/SLURM.conf\n"
    "# Author: John Doe\n"
    "# Date: 11/06/2001\n"
    "#\n"
    "ControlMachine=lx0001\n"
    "BackupController=lx0002\n"
    "#\n"
    "# Node Configurations\n"
    "# NodeName=DEFAULT TmpDisk=16384\n"
    "NodeName=lx[0001-0002] State=DRAINED\n"
    "NodeName=lx[0003-8000] CPUs=16 RealMemory=2048 Weight=16\n"
    "NodeName=lx[8001-9999] CPUs=32 RealMemory=4096 Weight=40 Feature=1200MHz\n"
    "# Partition Configurations\n"
    "# PartitionName=DEFAULT MaxTime=30 MaxNodes=2\n"
    "PartitionName=login Nodes=lx[0001-0002] State=DOWN # Don't schedule work here\n"
    "PartitionName=debug Nodes=lx[0003-0030] State=UP Default=YES\n"
    "PartitionName=class Nodes=lx[0031-0040] AllowGroups=students,teachers\n"
    "PartitionName=batch Nodes=lx[0041-9999] MaxTime=UNLIMITED MaxNodes=4096 Key=YES\n";

static void check_common_values(const struct conf *c)
{
    const struct conf_part *p = c->parts.data;

    assert_int_equal(c->controllers.len, 2);
    assert_string_equal(c->controllers.data[0].name, "lx0001");
    assert_string_equal(c->controllers.data[1].name, "lx0002");
    assert_int_equal(c->nodes.len, 9999);
    assert_int_equal(c->node_rows.len, 3);
    assert_string_equal(c->nodes.data[0].name, "lx0001");
    assert_int_equal(c->node_rows.data[0].state, CONF_NODE_DRAIN);
    assert_int_equal(conf_find_node(c, "lx8001"), 8000);
    const struct conf_node_row *r = &c->node_rows.data[c->nodes.data[8000].row];
    assert_int_equal(r->cpus, 32);
    assert_int_equal(r->real_memory_mib, 4096);
    assert_int_equal(r->weight, 40);
    assert_string_equal(r->features, "1200MHz");
    assert_int_equal(c->parts.len, 4);
    assert_string_equal(p[0].name, "login");
    assert_int_equal(p[0].state, CONF_PART_DOWN);
    assert_true(p[1].is_default);
    assert_int_equal(bitset_count(p[1].node_set), 28);
    assert_string_equal(p[2].allow_groups, "students,teachers");
    assert_true(p[3].key);
    assert_true(p[3].max_time_sec == CONF_UNLIMITED);
    assert_int_equal(p[3].max_nodes, 4096);
    assert_int_equal(bitset_count(p[3].node_set), 9959);
}

static void sample_configuration_is_printed_back(void **state)
{
    struct conf_report report = {0};
    struct conf *c = test_load(sample, &report);

    (void)state;
    assert_int_equal(report.warnings.len, 0);
    check_common_values(c);
    assert_true(c->parts.data[1].max_time_sec == CONF_UNLIMITED);
    conf_free(c);
    conf_report_done(&report);
}

/* The DEFAULT lines, which the print has as comments, taken at their word. */
static void sample_configuration_has_defaults(void **state)
{
    _cleanup_free_ char *text = mem_strdup(sample);
    const char *const lines[] = {"# NodeName=DEFAULT", "# PartitionName=DEFAULT"};

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++)
        memcpy(strstr(text, lines[i]), "  ", 2);
    struct conf *c = test_load(text, NULL);
    check_common_values(c);
    assert_int_equal(c->node_rows.data[2].tmp_disk_mib, 16384);
    assert_int_equal(c->parts.data[1].max_time_sec, 30 * 60);
    assert_int_equal(c->parts.data[1].max_nodes, 2);
    assert_int_equal(c->parts.data[2].max_time_sec, 30 * 60);
    conf_free(c);
}

/* A large cluster in four lines; the names are found again. */
static void large_cluster_is_loaded(void **state)
{
    struct conf *c = test_load(HEAD "NodeName=n[00000-99999] CPUs=64\n"
                                    "NodeName=r[0-99]c[0-99] CPUs=8\n"
                                    "PartitionName=all Nodes=ALL\nPartitionName=r "
                                    "Nodes=r[0-99]c[0-99]\n",
                               NULL);

    (void)state;
    assert_int_equal(c->nodes.len, 110000);
    assert_int_equal(conf_find_node(c, "n99999"), 99999);
    assert_int_equal(conf_find_node(c, "r99c99"), 109999);
    assert_int_equal(bitset_count(c->parts.data[0].node_set), 110000);
    assert_int_equal(bitset_count(c->parts.data[1].node_set), 10000);
    conf_free(c);
}

/* Each error separately; settings without effect in one line. */
static void report_lists_each_error(void **state)
{
    static const struct {
        const char *lines, *text;
    } v[] = {
        {"", ""},
        {"Foo=1\nSlurmctldPrt=1\n", "warning: t.conf:4: unknown key Foo is ignored\n"
                                    "warning: t.conf:5: unknown key SlurmctldPrt is ignored; "
                                    "did you mean SlurmctldPort?\n"},
        {"EioTimeout=7\n", "warning: 1 key has no effect; 'slurmctld --check' names it\n"},
        {"EpilogMsgTime=7\nFoo=1\nEioTimeout=9\n",
         "warning: t.conf:5: unknown key Foo is ignored\n"
         "warning: 2 keys have no effect; 'slurmctld --check' names them\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_str_ struct str text = STR_INIT, conf = STR_INIT;
        struct conf_report report = {0};

        str_printf(&conf, HEAD "NodeName=n1\nPartitionName=p Nodes=n1\n%s", v[i].lines);
        conf_free(test_load(str_cstr(&conf), &report));
        conf_report_format(&report, &text);
        assert_string_equal(str_cstr(&text), v[i].text);
        conf_report_done(&report);
    }
}

static void path_of_the_configuration_follows_the_environment(void **state)
{
    (void)state;
    setenv("SLURM_CONF", "/some/where.conf", 1);
    _cleanup_free_ char *env = conf_path();
    assert_string_equal(env, "/some/where.conf");
    unsetenv("SLURM_CONF");
    _cleanup_free_ char *other = conf_path();
    assert_string_equal(other, "/etc/slurm/slurm.conf");
    setenv("SLURM_CONF", "", 1);
    _cleanup_free_ char *empty = conf_path();
    assert_string_equal(empty, "/etc/slurm/slurm.conf");
}

/* This test's own prefix has no etc; the machine's /etc may have one. */
static void missing_configuration_is_reported(void **state)
{
    struct conf *c = NULL;
    struct err err = {0};

    (void)state;
    setenv("SLURM_CONF", "/no/such.conf", 1);
    assert_int_equal(conf_load_own(&c, &err), -ENOENT);
    assert_string_equal(err.text, "/no/such.conf, which SLURM_CONF names, does not exist");
    unsetenv("SLURM_CONF");
    if (access("/etc/slurm/slurm.conf", F_OK) == 0 || access("/etc/slurm.conf", F_OK) == 0)
        skip();
    assert_int_equal(conf_load_own(&c, &err), -ENOENT);
    assert_non_null(strstr(err.text, "there is no slurm.conf: neither "));
    assert_non_null(strstr(err.text, "nor /etc/slurm/slurm.conf exists; set SLURM_CONF"));
    assert_non_null(strstr(err.text, "eval \"$(sluice env)\""));
    assert_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_configuration_is_printed_back),
        cmocka_unit_test(sample_configuration_has_defaults),
        cmocka_unit_test(large_cluster_is_loaded),
        cmocka_unit_test(report_lists_each_error),
        cmocka_unit_test(path_of_the_configuration_follows_the_environment),
        cmocka_unit_test(missing_configuration_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
