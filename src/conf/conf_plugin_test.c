/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each name that a plugin key accepts, in full and without the part before the slash. */
#include "conf/conf_test_util.h"

/* 'same' is used as it is written, an alias as what follows its '='; for 'other' the default is
 * used, with a warning. */
static const struct {
    enum conf_key_id key;
    const char *same, *aliases, *other;
} cases[] = {
    {CONF_KEY_accounting_storage_type, "accounting_storage/none", "",
     "accounting_storage/slurmdbd"},
    {CONF_KEY_acct_gather_energy_type, "acct_gather_energy/none", "",
     "acct_gather_energy/ipmi acct_gather_energy/rapl"},
    {CONF_KEY_acct_gather_filesystem_type, "acct_gather_filesystem/none", "",
     "acct_gather_filesystem/lustre"},
    {CONF_KEY_acct_gather_interconnect_type, "acct_gather_interconnect/none", "",
     "acct_gather_interconnect/ofed acct_gather_interconnect/sysfs"},
    {CONF_KEY_acct_gather_profile_type, "acct_gather_profile/none", "",
     "acct_gather_profile/hdf5 acct_gather_profile/influxdb"},
    {CONF_KEY_auth_type, "auth/slurm", "", "auth/munge"},
    {CONF_KEY_burst_buffer_type, "burst_buffer/lua burst_buffer/none", "", "burst_buffer/datawarp"},
    {CONF_KEY_cli_filter_plugins,
     "cli_filter/lua cli_filter/none cli_filter/syslog cli_filter/user_defaults", "", ""},
    {CONF_KEY_cred_type, "cred/slurm", "", "cred/munge"},
    {CONF_KEY_job_acct_gather_type,
     "jobacct_gather/cgroup jobacct_gather/linux jobacct_gather/none", "", ""},
    {CONF_KEY_job_comp_type, "jobcomp/filetxt jobcomp/none jobcomp/script", "",
     "jobcomp/elasticsearch jobcomp/kafka jobcomp/lua jobcomp/mysql"},
    {CONF_KEY_job_container_type, "job_container/tmpfs job_container/none", "",
     "job_container/cncu"},
    {CONF_KEY_job_submit_plugins, "job_submit/lua job_submit/none", "",
     "job_submit/all_partitions job_submit/defaults job_submit/logging job_submit/partition "
     "job_submit/pbs job_submit/require_timelimit job_submit/throttle"},
    {CONF_KEY_mcs_plugin, "mcs/none", "", "mcs/account mcs/group mcs/label mcs/user"},
    {CONF_KEY_mpi_default, "none pmi1 pmi2 pmix pmix_v4 pmix_v5",
     "mpi/none=none mpi/pmi1=pmi1 mpi/pmi2=pmi2 mpi/pmix=pmix mpi/pmix_v4=pmix_v4 "
     "mpi/pmix_v5=pmix_v5",
     "mpi/cray_shasta mpi/openmpi mpi/pmix_v2 mpi/pmix_v3"},
    {CONF_KEY_namespace_type, "namespace/tmpfs namespace/none", "", "namespace/linux"},
    {CONF_KEY_node_features_plugins, "", "", "node_features/helpers node_features/knl_generic"},
    {CONF_KEY_preempt_type, "preempt/none preempt/partition_prio", "", "preempt/qos"},
    {CONF_KEY_prep_plugins, "prep/script", "", ""},
    {CONF_KEY_priority_type, "priority/multifactor priority/basic", "", ""},
    {CONF_KEY_proctrack_type, "proctrack/cgroup proctrack/linuxproc",
     "proctrack/pgid=proctrack/linuxproc", ""},
    {CONF_KEY_scheduler_type, "sched/backfill sched/builtin", "", ""},
    {CONF_KEY_select_type, "select/cons_tres select/linear", "select/cons_res=select/cons_tres",
     ""},
    {CONF_KEY_switch_type, "switch/none", "", "switch/hpe_slingshot switch/nvidia_imex"},
    {CONF_KEY_task_plugin, "task/affinity task/cgroup task/none", "", ""},
    {CONF_KEY_tls_type, "tls/noise tls/none", "", "tls/s2n"},
    {CONF_KEY_topology_plugin,
     "topology/block topology/ring topology/torus3d topology/tree topology/flat",
     "topology/default=topology/flat topology/none=topology/flat", "topology/3d_torus"},
};

/* "none" of a list is nothing. */
static bool is_nothing(enum conf_key_id key, const char *name)
{
    return (key == CONF_KEY_job_submit_plugins && str_eq(name, "job_submit/none")) ||
           (key == CONF_KEY_cli_filter_plugins && str_eq(name, "cli_filter/none"));
}

static void check_name(enum conf_key_id key, const char *name, const char *used)
{
    const struct conf_key *k = &conf_keys[key];
    struct conf_report report = {0};
    const char *more = str_eq(used, "preempt/partition_prio") ? "PreemptMode=CANCEL\n"
                       : str_eq(used, "jobcomp/script")       ? "JobCompLoc=/bin/true\n"
                                                              : "";
    _cleanup_free_ char *text = mem_printf(HEAD "%s=%s\n%s", k->name, name, more);
    if (used && strncmp(used, "topology/", 9) == 0 && !str_eq(used, "topology/flat")) {
        /* it is used: it misses its file */
        test_refused(&(struct test_refusal){text, "t.conf:2: ", "in topology.conf"}, 1);
        return;
    }
    struct conf *c = test_load(text, &report);
    const char *found = *(const char **)(void *)((char *)c + k->offset);
    const char *wanted = used ? used : *k->def ? k->def : NULL;
    size_t warned = 0;
    vec_foreach (&report.warnings, w)
        warned += strstr(w->text, "this plugin is not built in") != NULL;
    if (warned != !used || !str_eq(found, wanted && is_nothing(key, wanted) ? NULL : wanted))
        fail_msg("%s=%s: %s, %zu warnings", k->name, name, found ? found : "nothing", warned);
    conf_report_done(&report);
    conf_free(c);
}

/* The number of names. */
static size_t check_names(enum conf_key_id key, const char *names, bool is_known)
{
    _cleanup_free_ char *copy = mem_strdup(names);
    size_t count = 0;
    char *save = NULL;
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        char *same = strchr(name, '='), *slash = strchr(name, '/');
        if (same)
            *same++ = 0;
        const char *used = is_known ? same ? same : name : NULL;
        check_name(key, name, used);
        if (slash && (!same || strchr(same, '/')))
            check_name(key, slash + 1, used);
        count++;
    }
    return count;
}

static void each_plugin_is_used_or_warned_of(void **state)
{
    static const char *const rows[] = {
#define SAME(member, value) value,
#define ALIAS(member, value, same) value,
#define OTHER(member, value) value,
#include "conf/conf_plugin.def"
    };
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        count += check_names(cases[i].key, cases[i].same, true);
        count += check_names(cases[i].key, cases[i].aliases, true);
        count += check_names(cases[i].key, cases[i].other, false);
    }
    assert_int_equal(count, sizeof rows / sizeof rows[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_plugin_is_used_or_warned_of)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
