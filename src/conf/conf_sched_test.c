/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SchedulerParameters and HetLimits: accepted values, warnings, and refused values. */
#include "conf/conf_sets.h"
#include "conf/conf_test_util.h"

static struct conf *load_parameters(const char *list, struct conf_report *report, struct err *err)
{
    _cleanup_free_ char *text = mem_printf("ClusterName=c\nSlurmctldHost=h\n"
                                           "SchedulerParameters=%s\n"
                                           "NodeName=n CPUs=1\nPartitionName=p Nodes=n\n",
                                           list);
    struct conf *conf = NULL;
    conf_load_text(text, strlen(text), "t.conf", CONF_FULL, NULL, &conf, report, err);
    return conf;
}

static void invalid_parameters_are_refused(void **state)
{
    static const struct {
        const char *list, *says;
    } cases[] = {
        {"bf_max_job_test", "bf_max_job_test="},
        {"bf_max_job_test=", "bf_max_job_test="},
        {"bf_max_job_test=x", "bf_max_job_test=x: expected a number from 0 to 1000000"},
        {"bf_max_job_test=-1", "bf_max_job_test=-1"},
        {"bf_max_job_test=1000001", "bf_max_job_test=1000001"},
        {"bf_interval=-2", "bf_interval=-2: expected a number from -1 to 10800"},
        {"bf_min_prio_reserve=99999999999999999999", "bf_min_prio_reserve"},
        {"enable_user_top=yes", "enable_user_top=yes: it takes no value"},
        {"defer,bf_window=a,x", "bf_window=a"},
        /* HET-126, HET-127 */
        {"bf_hetjob_prio", "bf_hetjob_prio=: expected one of min|avg|max"},
        {"bf_hetjob_prio=", "bf_hetjob_prio=: expected one of min|avg|max"},
        {"bf_hetjob_prio=mi", "bf_hetjob_prio=mi: expected one of min|avg|max"},
        {"bf_hetjob_prio=min|avg", "bf_hetjob_prio=min|avg: expected one of min|avg|max"},
        {"bf_hetjob_immediate=1", "bf_hetjob_immediate=1: it takes no value"},
        {"hetjob_two_mode=2", "hetjob_two_mode=2: it takes no value"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct conf_report report = {0};
        struct err err = {0};
        struct conf *conf = load_parameters(cases[i].list, &report, &err);
        assert_null(conf);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, ":3: "))
            fail_msg("%s: %s", cases[i].list, err.text);
        conf_report_done(&report);
    }
}

static void unknown_parameters_are_warned_about(void **state)
{
    static const struct {
        const char *list, *says;
        bool fault;
    } cases[] = {
        {"bf_max_job_tests=1", "unknown parameter 'bf_max_job_tests'", true},
        {"x", "unknown parameter 'x'", true},
        {"=3", "unknown parameter ''", true},
        {"defer", "'defer' has no effect: a pass begins at once", false},
        {"bf_resolution=60", "'bf_resolution' has no effect: the timeline has a resolution", false},
        {"BF_Continue", "'bf_continue' has no effect", false},
        {"bf_allow_magnetic_slot", "'bf_allow_magnetic_slot' has no effect", false},
        {"bf_topopt_enable", "'bf_topopt_enable' has no effect", false},
        {"bf_topopt_iterations=3", "'bf_topopt_iterations' has no effect", false},
        {"bf_yield_rpc_cnt=20", "'bf_yield_rpc_cnt' has no effect", false},
        {"ignore_numa", "'Ignore_NUMA' has no effect", false},
        {"max_submit_line_size=1", "'max_submit_line_size' has no effect", false},
        {"requeue_on_resume_failure", "'requeue_on_resume_failure' has no effect", false},
        {"bf_hetjob_immediate", "'bf_hetjob_immediate' without hetjob_two_mode has no effect but",
         false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct conf_report report = {0};
        struct err err = {0};
        struct conf *conf = load_parameters(cases[i].list, &report, &err);
        assert_non_null(conf);
        assert_int_equal(report.warnings.len, 1);
        if (!strstr(report.warnings.data[0].text, cases[i].says))
            fail_msg("%s: %s", cases[i].list, report.warnings.data[0].text);
        assert_int_equal(report.warnings.data[0].line, 3);
        assert_int_equal(conf_report_fails(&report), cases[i].fault);
        conf_report_done(&report);
        conf_free(conf);
    }
}

static void parameters_are_read(void **state)
{
    struct conf_report report = {0};
    struct err err = {0};

    (void)state;
    struct conf *conf = load_parameters("", &report, &err);
    assert_int_equal(conf->sched.max_switch_wait, 300);
    assert_int_equal(conf->sched.bf_interval, 30);
    assert_false(conf->sched.enable_user_top || conf->sched.ignore_constraint_validation);
    conf_free(conf);
    conf = load_parameters("bf_window=1440,Enable_User_Top,,bf_max_job_user=7,max_switch_wait=0,"
                           "bf_min_prio_reserve=9223372036854775807",
                           &report, &err);
    if (!conf)
        fail_msg("%s", err.text);
    assert_int_equal(conf->sched.bf_window, 1440);
    assert_true(conf->sched.enable_user_top);
    assert_false(conf->sched.pack_serial_at_end);
    assert_int_equal(conf->sched.bf_max_job_user, 7);
    assert_int_equal(conf->sched.max_switch_wait, 0);
    assert_int_equal(conf->sched.bf_min_prio_reserve, INT64_MAX);
    assert_int_equal(report.warnings.len, 0);
    conf_free(conf);
    conf = load_parameters("preempt_strict_order,preempt_youngest_first,preempt_send_user_signal,"
                           "ignore_constraint_validation,max_depend_depth=4",
                           &report, &err);
    assert_true(conf->sched.preempt_strict_order && conf->sched.preempt_youngest_first &&
                conf->sched.preempt_send_user_signal && conf->sched.ignore_constraint_validation);
    assert_int_equal(conf->sched.max_depend_depth, 4);
    conf_report_done(&report);
    conf_free(conf);
}

static struct conf *load_het(const char *list, struct err *err)
{
    _cleanup_free_ char *text = mem_printf("ClusterName=c\nSlurmctldHost=h\nHetLimits=%s\n", list);
    struct conf *conf = NULL;
    conf_load_text(text, strlen(text), "t.conf", CONF_CLIENT, NULL, &conf, NULL, err);
    return conf;
}

/* The limits of heterogeneous jobs that are kept: by name, or all. */
static void limits_of_heterogeneous_jobs_are_read(void **state)
{
    struct err err = {0};
    struct conf *conf;

    (void)state;
    assert_null(load_het("licenses,all", &err));
    assert_non_null(strstr(err.text, "t.conf:3: HetLimits=licenses,all: 'all' is not one of: none "
                                     "documented arrays builtin het_steps"));
    conf = load_het("", &err);
    assert_false(conf_sets_keep(conf, CONF_SETS_licenses));
    assert_int_equal(conf_sets_refuse(conf, CONF_SETS_licenses, -ERR_LICENSE, "no", &err), 0);
    conf_free(conf);
    conf = load_het("None,,Licenses", &err);
    assert_true(conf_sets_keep(conf, CONF_SETS_licenses));
    assert_false(conf_sets_keep(conf, CONF_SETS_het_steps));
    assert_int_equal(conf_sets_refuse(conf, CONF_SETS_licenses, -ERR_LICENSE, "no", &err),
                     -ERR_LICENSE);
    assert_string_equal(err.text, "no: only component 0 may request licenses (HetLimits=licenses)");
    conf_free(conf);
    conf = load_het("documented", &err);
    for (int i = 0; i < CONF_SETS_LIMITS; i++)
        assert_true(conf_sets_keep(conf, (enum conf_sets_limit)i));
    conf_free(conf);
}

/* HET-126, HET-127: bf_hetjob_immediate implies bf_hetjob_prio=min unless that is given. */
static void immediate_het_jobs_imply_the_minimum_priority(void **state)
{
    static const struct {
        const char *list;
        enum conf_sets_rank prio;
    } cases[] = {
        {"hetjob_two_mode", CONF_RANK_OWN},
        {"bf_hetjob_prio=MIN", CONF_RANK_LEAST},
        {"bf_hetjob_prio=avg", CONF_RANK_MEAN},
        {"bf_hetjob_prio=max", CONF_RANK_MOST},
        {"hetjob_two_mode,bf_hetjob_immediate", CONF_RANK_LEAST},
        {"hetjob_two_mode,bf_hetjob_immediate,bf_hetjob_prio=max", CONF_RANK_MOST},
        {"bf_hetjob_prio=avg,bf_hetjob_immediate,hetjob_two_mode", CONF_RANK_MEAN},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct conf_report report = {0};
        struct err err = {0};
        struct conf *conf = load_parameters(cases[i].list, &report, &err);
        if (!conf || conf->sched.bf_hetjob_prio != cases[i].prio || report.warnings.len)
            fail_msg("%s: %s", cases[i].list, err.text);
        conf_report_done(&report);
        conf_free(conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_parameters_are_refused),
        cmocka_unit_test(unknown_parameters_are_warned_about),
        cmocka_unit_test(parameters_are_read),
        cmocka_unit_test(limits_of_heterogeneous_jobs_are_read),
        cmocka_unit_test(immediate_het_jobs_imply_the_minimum_priority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
