/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Burst buffers: the order of phases, failures, cancellation, pools; a crash at any point neither
 * loses nor duplicates a job or its teardown (HET-25, HET-27). */
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/job/burst.h"
#include "control/fixture.h"

#define BURST PB__SCRIPT_KIND__SCRIPT_BURST
#define ASK PB__SCRIPT_KIND__SCRIPT_BURST_ASK
#define FAILS (1 << 8)
#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500\n"
#define CONF                                                                                       \
    NODES "BurstBufferType=burst_buffer/lua\nBurstBufferConf=1 PollInterval=2\n"                   \
          "BurstBufferConf=1 StageInTimeout=10\n"

/* --- helpers -----------------------------------------------------------------------------------
 */

static uint32_t submit_lines(struct fixture *f, const char *lines)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.burst_buffer = (char *)lines;
    return (uint32_t)fixture_submit(f, &user, &spec);
}

static void expect_refusal(struct fixture *f, const Pb__JobSpec *spec, int code, const char *text)
{
    struct caller user = FIXTURE_USER;
    assert_int_equal(fixture_submit(f, &user, spec), -code);
    assert_non_null(strstr(fixture_text(f, f->last_call), text));
}

/* Returns the index of the last function call for the job that has not ended; -1: none. */
static long find_call(const struct fixture *f, uint32_t id)
{
    for (size_t i = f->scripts.len; i-- > 0;)
        if (f->scripts.data[i].kind == BURST && f->scripts.data[i].job_id == id)
            return (long)i;
    return -1;
}

static const char *get_function(const struct fixture *f, uint32_t id)
{
    long i = find_call(f, id);
    return i < 0 ? "" : f->scripts.data[i].function + strlen("slurm_bb_");
}

static void end_call(struct fixture *f, long i, int status, const char *output)
{
    Pb__ScriptEnded m = PB__SCRIPT_ENDED__INIT;
    struct fixture_script s = f->scripts.data[i];
    vec_remove(&f->scripts, (size_t)i);
    m.kind = (Pb__ScriptKind)s.kind;
    m.job_id = s.job_id;
    m.restarts = s.restarts;
    m.wait_status = status;
    m.text = status ? (char *)output : NULL;
    m.output = status ? NULL : (char *)output;
    control_script_ended(f->control, &m);
    free(s.path);
    free(s.function);
    str_done(&s.argv);
    str_done(&s.env);
    str_done(&s.script);
    fixture_turn(f);
}

static void answer_call(struct fixture *f, uint32_t id, const char *function, int status,
                        const char *output)
{
    assert_string_equal(get_function(f, id), function);
    end_call(f, find_call(f, id), status, output);
}

static void give_pools(struct fixture *f, const char *pools)
{
    for (size_t i = f->scripts.len; i-- > 0;)
        if (f->scripts.data[i].kind == ASK) {
            assert_string_equal(f->scripts.data[i].function, "slurm_bb_pools");
            end_call(f, (long)i, 0, pools);
            return;
        }
    fail_msg("slurm_bb_pools was not called");
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, uint32_t id)
{
    const Pb__JobRecord *r = fixture_job(f, arena, id);
    return r ? r->live : NULL;
}

static void expect_state(struct fixture *f, uint32_t id, const char *state, const char *reason)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = get_live(f, &arena, id);
    assert_non_null(live);
    assert_string_equal(live->burst->state, state);
    assert_string_equal(live->reason ? live->reason : "None", reason);
}

static void expect_detail(struct fixture *f, uint32_t id, const char *text)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = get_live(f, &arena, id);
    if (!live->reason_detail || !strstr(live->reason_detail, text))
        fail_msg("'%s' without '%s'", live->reason_detail ? live->reason_detail : "", text);
}

static void set_hold(struct fixture *f, uint32_t id, bool hold)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobUpdate m = PB__JOB_UPDATE__INIT;
    m.job_id = id;
    m.has_hold = true;
    m.hold = hold;
    assert_int_equal(fixture_update_job(f, &root, &m), 0);
}

static void release_job(struct fixture *f, uint32_t id)
{
    set_hold(f, id, false);
}

/* Answers every call until the job can start. */
static void answer_stage_in(struct fixture *f, uint32_t id)
{
    answer_call(f, id, "setup", 0, NULL);
    answer_call(f, id, "data_in", 0, NULL);
    answer_call(f, id, "test_data_in", 0, "");
    answer_call(f, id, "real_size", 0, NULL);
}

static void answer_start(struct fixture *f, uint32_t id)
{
    answer_call(f, id, "paths", 0, "A=1\nB=2");
    answer_call(f, id, "pre_run", 0, NULL);
}

/* Answers every call up to the launch of the script. */
static void answer_until_launch(struct fixture *f, uint32_t id)
{
    answer_stage_in(f, id);
    answer_start(f, id);
}

static void end_job(struct fixture *f, uint32_t id, uint32_t restarts, int status)
{
    fixture_batch_ended(f, "n1", id, restarts, status);
    fixture_gone(f, "n1", id, restarts);
}

static void run_stage_out(struct fixture *f, uint32_t id)
{
    answer_call(f, id, "post_run", 0, NULL);
    answer_call(f, id, "data_out", 0, NULL);
    answer_call(f, id, "test_data_out", 0, "");
    answer_call(f, id, "job_teardown", 0, NULL);
}

static int signal_job(struct fixture *f, uint32_t id, bool hurry)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSignal m = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
    target.job_id = id;
    m.target = targets;
    m.n_target = 1;
    m.has_hurry = m.hurry = hurry;
    control_job_signal(f->control, ++f->last_call, &user, &m);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* --- requests ----------------------------------------------------------------------------------
 */

static void unavailable_buffers_are_refused(void **state)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    struct fixture *f = fixture_new_up(NODES, 2);
    spec.burst_buffer = (char *)"#BB_LUA";
    expect_refusal(f, &spec, ERR_BURST, "BurstBufferType is not set");
    fixture_free(f);
    f = fixture_new_up(CONF "BurstBufferConf=1 DenyUsers=1000\n", 2);
    expect_refusal(f, &spec, ERR_BURST_ACCESS, "AllowUsers and DenyUsers");
    fixture_free(f);
    f = fixture_new_up(CONF, 2);
    fixture_pass(f, 1);
    give_pools(f, "p 100 10\n");
    static const char *const bad[][2] = {
        {"#BB_LUA capacity=x", "invalid capacity 'x'"},
        {"#BB_LUA capacity=1Q", "invalid capacity '1Q'"},
        {"#BB_LUA capacity=99999999999999999999", "invalid capacity"},
        {"#BB_LUA pool=q", "pool 'q' does not exist"},
        {"#BB_LUA pool=p capacity=1K", "pool 'p' has 100, 1024 requested"},
        {"pool=p capacity=1", "no line begins with '#BB_LUA'"},
        {"echo #BB_LUA\n#BB", "no line begins with '#BB_LUA'"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        spec.burst_buffer = (char *)bad[i][0];
        expect_refusal(f, &spec, ERR_BURST, bad[i][1]);
    }
    assert_string_equal(get_function(f, 1), "");
    fixture_free(f);
}

static void sizes_have_binary_and_decimal_units(void **state)
{
    static const struct {
        const char *text, *shown;
        uint64_t size;
    } sizes[] = {{"0", "0", 0},
                 {"2N", "2", 2},
                 {"1K", "1KiB", 1024},
                 {"1kb", "1KB", 1000},
                 {"250KiB", "250KiB", 256000},
                 {"1G", "1GiB", 1 << 30},
                 {"5GB", "5GB", 5000000000}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint64_t size = 7;
        char text[32];
        assert_true(burst_parse_size(sizes[i].text, strlen(sizes[i].text), &size));
        assert_int_equal(size, sizes[i].size);
        burst_format_size(size, text);
        assert_string_equal(text, sizes[i].shown);
    }
}

/* --- phases ------------------------------------------------------------------------------------
 */

static void buffer_passes_all_phases(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA x");
    expect_state(f, id, "staging-in", "BurstBufferStageIn");
    answer_call(f, id, "setup", 0, NULL);
    answer_call(f, id, "data_in", 0, NULL);
    answer_call(f, id, "test_data_in", 0, "BUSY");
    assert_string_equal(get_function(f, id), "");
    fixture_pass(f, 2000);
    answer_call(f, id, "test_data_in", 0, "");
    expect_state(f, id, "staging-in", "BurstBufferStageIn");
    answer_call(f, id, "real_size", 0, "2K");
    expect_state(f, id, "pre-run", "Prolog"); /* its nodes are free */
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    answer_start(f, id);
    expect_state(f, id, "running", "None");
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_launched(f, "n1", id, 0);
    end_job(f, id, 0, 0);
    expect_state(f, id, "post-run", "None");
    answer_call(f, id, "post_run", 0, NULL);
    expect_state(f, id, "staging-out", "None");
    fixture_pass(f, 400000); /* it is not purged meanwhile */
    answer_call(f, id, "data_out", 0, NULL);
    answer_call(f, id, "test_data_out", 0, "");
    expect_state(f, id, "teardown", "None");
    answer_call(f, id, "job_teardown", 0, NULL);
    expect_state(f, id, "complete", "None");
    assert_string_equal(get_function(f, id), "");
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

/* Running functions continue; without the type existing buffers are torn down. */
/* --- arrays, and changes -----------------------------------------------------------------------
 */

static uint32_t submit_array(struct fixture *f, const char *lines)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec spec = fixture_spec(1, 1);
    spec.array_inx = (char *)"1-5";
    spec.burst_buffer = (char *)lines;
    return (uint32_t)fixture_submit(f, &user, &spec);
}

/* Expects the running functions by job id: "2:setup 3:data_in ". */
static void expect_calls(struct fixture *f, const char *wanted)
{
    _cleanup_str_ struct str out = STR_INIT;
    for (uint32_t id = 1; id < 100; id++)
        if (*get_function(f, id))
            str_printf(&out, "%u:%s ", id, get_function(f, id));
    assert_string_equal(str_cstr(&out), wanted);
}

static void each_array_element_has_its_own_buffer(void **state)
{
    struct fixture *f = fixture_new_up(CONF "SchedulerParameters=bb_array_stage_cnt=2\n", 2);
    uint32_t id = submit_array(f, "#BB_LUA");
    assert_int_equal(id, 1);
    expect_calls(f, "2:setup 3:setup ");
    expect_state(f, id, "pending", "BurstBufferStageIn"); /* elements 3 to 5 */
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    fixture_pass(f, 1);
    give_pools(f, "");
    expect_calls(f, "2:job_teardown 3:job_teardown "); /* stage-in starts over */
    answer_call(f, 2, "job_teardown", 0, NULL);
    answer_call(f, 3, "job_teardown", 0, NULL);
    answer_stage_in(f, 2);
    answer_start(f, 2);
    expect_state(f, 2, "running", "None");
    expect_calls(f, "3:setup 4:setup ");
    answer_call(f, 3, "setup", FAILS, "no"); /* a failure does not affect the others */
    expect_state(f, 3, "staging-in", "BurstBufferOperation");
    expect_calls(f, "4:setup 5:setup ");
    fixture_cancel(f, &FIXTURE_USER, id, "5", 0);
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, id, NULL, 0), 0);
    fixture_free(f);
}

static void elements_wait_for_their_pool_in_order(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    fixture_pass(f, 1);
    give_pools(f, "p 3 1\n");
    uint32_t id = submit_array(f, "#BB_LUA pool=p capacity=1");
    uint32_t after = submit_lines(f, "#BB_LUA pool=p capacity=1");
    uint32_t elements[] = {id + 1, id + 2, id + 3, id + 4};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(get_function(f, elements[i]), "setup");
    expect_state(f, elements[3], "pending", "BurstBufferResources");
    expect_state(f, after, "pending", "BurstBufferResources");
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, elements[0], NULL, 0), 0);
    answer_call(f, elements[0], "setup", SIGKILL, "killed");
    answer_call(f, elements[0], "job_teardown", 0, NULL);
    assert_string_equal(get_function(f, elements[3]), "setup"); /* not the later job */
    expect_state(f, after, "pending", "BurstBufferResources");
    fixture_free(f);
}

static void each_component_of_each_element_has_a_buffer(void **state)
{
    struct fixture *f = fixture_new_up(CONF "SchedulerParameters=bb_array_stage_cnt=1\n", 2);
    Pb__JobSpec set[] = {fixture_spec(1, 1), fixture_spec(1, 1)};
    set[0].array_inx = (char *)"1-2";
    set[0].burst_buffer = set[1].burst_buffer = (char *)"#BB_LUA";
    uint32_t id = (uint32_t)fixture_submit_set(f, &FIXTURE_USER, set, 2);
    expect_calls(f, "1:setup 2:setup ");
    expect_state(f, id + 2, "pending", "BurstBufferStageIn");
    answer_stage_in(f, 1);
    answer_stage_in(f, 2);
    answer_start(f, 1);
    answer_start(f, 2);
    expect_calls(f, "3:setup 4:setup ");
    fixture_free(f);
}

static int change_lines(struct fixture *f, struct caller who, uint32_t id, const char *lines)
{
    Pb__JobUpdate m = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    set.burst_buffer = (char *)lines;
    m.job_id = id;
    m.set = &set;
    return fixture_update_job(f, &who, &m);
}

static void changed_buffer_is_set_up_again(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    fixture_pass(f, 1);
    give_pools(f, "p 4 1\n");
    Pb__JobSpec spec = fixture_spec(2, 4); /* blocks the others */
    fixture_submit(f, &FIXTURE_USER, &spec);
    uint32_t id = submit_lines(f, "#BB_LUA pool=p capacity=1");
    answer_stage_in(f, id);
    expect_state(f, id, "staged-in", "Resources");
    assert_int_equal(change_lines(f, FIXTURE_USER, id, "#BB_LUA"), ERR_ACCESS);
    assert_int_equal(change_lines(f, FIXTURE_ROOT, id, "#BB_LUA pool=q"), ERR_BURST);
    assert_int_equal(change_lines(f, FIXTURE_ROOT, id, "#BB_LUA pool=p capacity=4"), 0);
    answer_call(f, id, "job_teardown", 0, NULL);
    assert_string_equal(get_function(f, id), "setup");
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(get_live(f, &arena, id)->burst->size, 4);
    assert_int_equal(change_lines(f, FIXTURE_ROOT, id, ""), 0); /* while its function runs */
    answer_call(f, id, "setup", SIGKILL, "killed");
    fixture_restart(f);
    answer_call(f, id, "job_teardown", 0, NULL);
    assert_null(get_live(f, &arena, id)->burst);
    assert_int_equal(change_lines(f, FIXTURE_ROOT, id, "#BB_LUA"), 0); /* it has no buffer */
    assert_string_equal(get_function(f, id), "setup");
    answer_stage_in(f, id);
    fixture_free(f);
}

static void job_requeued_after_its_end_gets_a_new_buffer(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
    uint32_t id = submit_lines(f, "#BB_LUA");
    answer_until_launch(f, id);
    fixture_launched(f, "n1", id, 0);
    end_job(f, id, 0, 0);
    run_stage_out(f, id);
    uint32_t other = submit_lines(f, "#BB_LUA"); /* complete buffers are dropped */
    requeue.job_id = id;
    requeue.has_requeue = requeue.requeue = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_ROOT, &requeue), 0);
    fixture_pass(f, 150000); /* requeue_delay */
    expect_state(f, id, "staging-in", "BurstBufferStageIn");
    answer_until_launch(f, id);
    expect_state(f, id, "running", "None");
    assert_string_equal(get_function(f, other), "setup");
    fixture_free(f);
}

static void a_running_job_keeps_its_buffer(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    answer_until_launch(f, id);
    assert_int_equal(change_lines(f, FIXTURE_ROOT, id, ""), ERR_NOT_PENDING);
    expect_state(f, id, "running", "None");
    fixture_free(f);
}

/* Counts the requested mails of this type. */
static unsigned count_mails(const struct fixture *f, const char *type)
{
    unsigned count = 0;
    vec_foreach (&f->scripts, s)
        count += s->kind == PB__SCRIPT_KIND__SCRIPT_MAIL && strstr(str_cstr(&s->argv), type);
    return count;
}

/* Not before the buffer is torn down, and not if data were left behind. */
static void mail_reports_the_stage_out(void **state)
{
    for (int hurry = 0; hurry < 2; hurry++) {
        struct fixture *f = fixture_new_up(CONF "MailProg=/m\n", 2);
        struct caller user = FIXTURE_USER;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        spec.burst_buffer = (char *)"#BB_LUA";
        spec.mail_type = (char *)(hurry ? "ALL" : "STAGE_OUT");
        uint32_t id = (uint32_t)fixture_submit(f, &user, &spec);
        answer_until_launch(f, id);
        fixture_launched(f, "n1", id, 0);
        end_job(f, id, 0, 0);
        answer_call(f, id, "post_run", 0, NULL);
        if (hurry) {
            assert_int_equal(signal_job(f, id, true), 0);
            answer_call(f, id, "data_out", SIGKILL, "killed");
        } else {
            answer_call(f, id, "data_out", 0, NULL);
            answer_call(f, id, "test_data_out", 0, "");
        }
        assert_int_equal(count_mails(f, "Staged out"), 0);
        answer_call(f, id, "job_teardown", 0, NULL);
        expect_state(f, id, "complete", "None");
        assert_int_equal(count_mails(f, "Staged out"), !hurry);
        fixture_free(f);
    }
}

static void reconfiguration_loses_no_script_call(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    answer_call(f, id, "setup", 0, NULL);
    fixture_reconfigure(f, CONF);
    answer_call(f, id, "data_in", 0, NULL);
    answer_call(f, id, "test_data_in", 0, "BUSY");
    fixture_reconfigure(f, CONF);
    fixture_pass(f, 2000);
    answer_call(f, id, "test_data_in", 0, NULL);
    answer_call(f, id, "real_size", 0, NULL);
    answer_start(f, id);
    fixture_launched(f, "n1", id, 0);
    end_job(f, id, 0, 0);
    fixture_reconfigure(f, NODES);
    answer_call(f, id, "post_run", 0, NULL);
    answer_call(f, id, "job_teardown", 0, NULL);
    expect_state(f, id, "complete", "None");
    fixture_free(f);
}

/* Progress of a job: the number of functions that have ended. */
#define CALLS 10
static const char *const calls[CALLS] = {
    "setup",   "data_in",  "test_data_in", "real_size",     "paths",
    "pre_run", "post_run", "data_out",     "test_data_out", "job_teardown"};

static void bring_to_phase(struct fixture *f, uint32_t id, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 6) {
            fixture_launched(f, "n1", id, 0);
            end_job(f, id, 0, 0);
        }
        answer_call(f, id, calls[i], 0, NULL);
    }
    if (count == 6) {
        fixture_launched(f, "n1", id, 0);
        end_job(f, id, 0, 0);
    }
}

/* Continues to the end of the job and answers each function. */
static void finish_all(struct fixture *f, uint32_t id, size_t *launches)
{
    for (size_t i = 0; i < 40; i++) {
        if (*get_function(f, id)) {
            end_call(f, find_call(f, id), 0, NULL);
        } else if (fixture_state(f, id) == PB__JOB_STATE__RUNNING) {
            *launches += fixture_launches(f, "n1", id);
            fixture_launched(f, "n1", id, 0);
            end_job(f, id, 0, 0);
        }
    }
}

static void a_crash_at_any_point_loses_nothing(void **state)
{
    for (size_t count = 0; count < CALLS; count++) {
        struct fixture *f = fixture_new_up(CONF, 2);
        uint32_t id = submit_lines(f, "#BB_LUA");
        size_t launches = 0;
        bring_to_phase(f, id, count);
        fixture_clear(f);
        fixture_restart(f);
        fixture_register(f, "n1", "i1");
        fixture_register(f, "n2", "i1");
        fixture_turn(f);
        /* Functions ended with the controller run again, or staging starts over. */
        const char *again = count < 4    ? "job_teardown"
                            : count <= 5 ? calls[count]
                            : count < 9  ? "post_run"
                                         : "job_teardown";
        assert_string_equal(get_function(f, id), again);
        finish_all(f, id, &launches);
        assert_int_equal(launches, count < 6);
        expect_state(f, id, "complete", "None");
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__COMPLETED);
        fixture_free(f);
    }
}

/* The running function is stopped, and the teardown begins when it has ended. */
static void a_cancelled_job_is_torn_down(void **state)
{
    for (size_t count = 0; count < 6; count++) {
        struct fixture *f = fixture_new_up(CONF, 2);
        uint32_t id = submit_lines(f, "#BB_LUA");
        bring_to_phase(f, id, count);
        assert_int_equal(signal_job(f, id, false), 0);
        assert_true(f->scripts.data[find_call(f, id)].stopped);
        assert_string_equal(get_function(f, id), calls[count]);
        answer_call(f, id, calls[count], SIGKILL, "killed");
        const char *args = str_cstr(&f->scripts.data[find_call(f, id)].argv);
        assert_non_null(strstr(args, count < 4 ? "true\n" : "false\n")); /* hurry: it never ran */
        answer_call(f, id, "job_teardown", 0, NULL);
        fixture_gone(f, "n1", id, 0);
        expect_state(f, id, "complete", count < 4 ? "BurstBufferStageIn" : "None");
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
        fixture_free(f);
    }
}

static void hurried_cancellation_skips_the_stage_out(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    answer_until_launch(f, id);
    fixture_launched(f, "n1", id, 0);
    assert_int_equal(signal_job(f, id, true), 0);
    answer_call(f, id, "job_teardown", 0, NULL);
    end_job(f, id, 0, SIGTERM);
    /* A job whose data are being staged out. */
    uint32_t other = submit_lines(f, "#BB_LUA");
    bring_to_phase(f, other, 6);
    assert_int_equal(signal_job(f, other, true), 0);
    answer_call(f, other, "post_run", SIGKILL, "killed");
    answer_call(f, other, "job_teardown", 0, NULL);
    assert_int_equal(signal_job(f, other, true), 0); /* the reply reports success for the job */
    expect_state(f, other, "complete", "None");
    fixture_free(f);
}

/* --- failures ----------------------------------------------------------------------------------
 */

static void a_failed_stage_in_holds_the_job(void **state)
{
    for (size_t count = 0; count < 4; count++)
        for (int tears_down = 0; tears_down < 2; tears_down++) {
            struct fixture *f = fixture_new_up(
                tears_down ? CONF "BurstBufferConf=1 Flags=TeardownFailure\n" : CONF, 2);
            uint32_t id = submit_lines(f, "#BB_LUA");
            bring_to_phase(f, id, count);
            answer_call(f, id, calls[count], FAILS, "disk full");
            expect_state(f, id, tears_down ? "teardown" : "staging-in", "BurstBufferOperation");
            expect_detail(f, id, "disk full");
            if (tears_down)
                answer_call(f, id, "job_teardown", 0, NULL);
            expect_state(f, id, tears_down ? "pending" : "staging-in", "BurstBufferOperation");
            expect_detail(f, id, "disk full");
            fixture_clear(f);
            fixture_restart(f);
            expect_state(f, id, tears_down ? "pending" : "staging-in", "BurstBufferOperation");
            fixture_register(f, "n1", "i1");
            release_job(f, id);
            if (!tears_down)
                answer_call(f, id, "job_teardown", 0, NULL);
            answer_until_launch(f, id);
            expect_state(f, id, "running", "None");
            fixture_free(f);
        }
}

static void a_stage_in_that_takes_too_long_is_torn_down(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    answer_call(f, id, "setup", 0, NULL);
    answer_call(f, id, "data_in", 0, NULL);
    for (int i = 0; i < 5; i++) {
        answer_call(f, id, "test_data_in", 0, "BUSY");
        fixture_pass(f, 2000);
    }
    answer_call(f, id, "test_data_in", 0, "BUSY");
    expect_state(f, id, "teardown", "BurstBufferOperation");
    expect_detail(f, id, "StageInTimeout");
    answer_call(f, id, "job_teardown", 0, NULL);
    fixture_free(f);
}

static void a_failed_pre_run_requeues_held(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    answer_stage_in(f, id);
    answer_call(f, id, "paths", 0, NULL);
    answer_call(f, id, "pre_run", FAILS, "no mount");
    expect_state(f, id, "teardown", "BurstBufferOperation");
    expect_detail(f, id, "pre_run: no mount");
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    release_job(f, id); /* during the teardown of the old buffer */
    expect_state(f, id, "teardown", "BurstBufferStageIn");
    answer_call(f, id, "job_teardown", 0, NULL);
    answer_until_launch(f, id);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_free(f);
}

static void a_failed_stage_out_is_kept(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    bring_to_phase(f, id, 7);
    answer_call(f, id, "data_out", FAILS, "no space");
    expect_state(f, id, "staging-out", "BurstBufferOperation");
    fixture_pass(f, 400000);
    fixture_clear(f);
    fixture_restart(f);
    expect_state(f, id, "staging-out", "BurstBufferOperation");
    assert_string_equal(get_function(f, id), "");
    assert_int_equal(signal_job(f, id, true), 0);
    answer_call(f, id, "job_teardown", 0, NULL);
    expect_state(f, id, "complete", "BurstBufferOperation");
    fixture_free(f);
}

static void a_teardown_is_tried_three_times(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    assert_int_equal(signal_job(f, id, false), 0);
    answer_call(f, id, "setup", SIGKILL, "killed");
    for (int i = 0; i < 3; i++) {
        answer_call(f, id, "job_teardown", FAILS, "busy");
        expect_state(f, id, i < 2 ? "teardown-fail" : "complete", "BurstBufferStageIn");
        fixture_pass(f, 2000);
    }
    assert_string_equal(get_function(f, id), "");
    fixture_free(f);
}

/* A requeued job gets a new buffer. */
static void requeued_job_passes_all_phases_again(void **state)
{
    struct caller root = FIXTURE_ROOT;
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = submit_lines(f, "#BB_LUA");
    answer_until_launch(f, id);
    fixture_launched(f, "n1", id, 0);
    Pb__JobUpdate m = PB__JOB_UPDATE__INIT;
    m.job_id = id;
    m.has_requeue = m.requeue = true;
    assert_int_equal(fixture_update_job(f, &root, &m), 0);
    end_job(f, id, 0, SIGTERM);
    expect_state(f, id, "teardown", "BurstBufferStageIn");
    answer_call(f, id, "job_teardown", 0, NULL);
    answer_until_launch(f, id);
    expect_state(f, id, "running", "None");
    fixture_free(f);
}

/* --- pools and sets ----------------------------------------------------------------------------
 */

static void capacity_of_a_pool_is_limited(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    fixture_pass(f, 1);
    uint32_t early = submit_lines(f, "#BB_LUA pool=p capacity=1");
    expect_state(f, early, "pending", "BurstBufferResources"); /* the pools are still unknown */
    give_pools(f, "p 100 40\n");
    expect_state(f, early, "staging-in", "BurstBufferStageIn"); /* 40 */
    uint32_t big = submit_lines(f, "#BB_LUA pool=p capacity=70"), small;
    expect_state(f, big, "pending", "BurstBufferResources"); /* 80 */
    small = submit_lines(f, "#BB_LUA pool=p capacity=1");
    expect_state(f, small, "pending", "BurstBufferResources"); /* it would fit but comes later */
    uint32_t other = submit_lines(f, "#BB_LUA");
    expect_state(f, other, "staging-in", "BurstBufferStageIn");
    assert_int_equal(signal_job(f, early, false), 0);
    answer_call(f, early, "setup", SIGKILL, "killed");
    expect_state(f, big, "pending", "BurstBufferResources"); /* until the teardown has ended */
    answer_call(f, early, "job_teardown", 0, NULL);
    expect_state(f, big, "staging-in", "BurstBufferStageIn");
    expect_state(f, small, "pending", "BurstBufferResources"); /* 20 are left */
    assert_int_equal(signal_job(f, big, false), 0);
    answer_call(f, big, "setup", SIGKILL, "killed");
    answer_call(f, big, "job_teardown", 0, NULL);
    expect_state(f, small, "staging-in", "BurstBufferStageIn");
    fixture_free(f);
}

static int64_t submit_pair(struct fixture *f, const char *first, const char *second)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT};
    specs[0].burst_buffer = (char *)first;
    specs[1].burst_buffer = (char *)second;
    return fixture_submit_set(f, &user, specs, 2);
}

/* A set whose buffers together are larger than the pool is refused. One that was submitted before
 * the pools were known gets no part of the pool, and keeps no other job waiting. */
static void a_set_has_all_of_its_buffers_or_none(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    const char *big = "#BB_LUA pool=p capacity=55";
    (void)state;
    fixture_pass(f, 1);
    uint32_t id = (uint32_t)submit_pair(f, big, big);
    give_pools(f, "p 100 10\n");
    expect_state(f, id, "pending", "BurstBufferResources");
    expect_state(f, id + 1, "pending", "BurstBufferResources");
    uint32_t small = submit_lines(f, "#BB_LUA pool=p capacity=1");
    expect_state(f, small, "staging-in", "BurstBufferStageIn");
    assert_int_equal(submit_pair(f, big, big), -ERR_BURST);
    assert_non_null(strstr(fixture_text(f, f->last_call),
                           "pool 'p' has 100, 120 requested by all components together"));
    assert_int_equal(change_lines(f, FIXTURE_ROOT, id + 1, "#BB_LUA pool=p capacity=30"), 0);
    expect_state(f, id, "staging-in", "BurstBufferStageIn");
    expect_state(f, id + 1, "staging-in", "BurstBufferStageIn");
    fixture_free(f);
}

/* A change may not make the buffers of a set larger than the pool; it may make them smaller. */
static void a_changed_component_still_fits_with_its_set(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    const char *half = "#BB_LUA pool=p capacity=50", *most = "#BB_LUA pool=p capacity=90";
    (void)state;
    fixture_pass(f, 1);
    uint32_t large = (uint32_t)submit_pair(f, most, most); /* the pools are still unknown */
    give_pools(f, "p 100 10\n");
    assert_int_equal(change_lines(f, FIXTURE_ROOT, large + 1, "#BB_LUA pool=p capacity=80"), 0);
    uint32_t id = (uint32_t)submit_pair(f, half, half);
    assert_int_equal(change_lines(f, FIXTURE_ROOT, id + 1, "#BB_LUA pool=p capacity=60"),
                     ERR_BURST);
    assert_non_null(strstr(fixture_text(f, f->last_call), "pool 'p' has 100, 110 requested"));
    fixture_free(f);
}

/* The second components of two sets are held while their first ones could be staged in. */
static void two_sets_never_wait_for_each_other(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    const char *half = "#BB_LUA pool=p capacity=50", *quarter = "#BB_LUA pool=p capacity=25";
    (void)state;
    fixture_pass(f, 1);
    uint32_t a = (uint32_t)submit_pair(f, half, half);
    uint32_t b = (uint32_t)submit_pair(f, half, half);
    set_hold(f, a + 1, true);
    set_hold(f, b + 1, true);
    give_pools(f, "p 100 1\n");
    expect_state(f, a, "staging-in", "BurstBufferStageIn");
    expect_state(f, b, "pending", "BurstBufferResources"); /* 50 are free, 100 are missing */
    assert_int_equal(change_lines(f, FIXTURE_ROOT, b + 1, quarter), 0);
    assert_int_equal(change_lines(f, FIXTURE_ROOT, b, quarter), 0);
    expect_state(f, b, "staging-in", "BurstBufferStageIn");
    release_job(f, a + 1);
    expect_state(f, a + 1, "pending", "BurstBufferResources"); /* 25 are free */
    release_job(f, b + 1);
    expect_state(f, b + 1, "staging-in", "BurstBufferStageIn"); /* though it comes later */
    fixture_free(f);
}

/* HET-25, HET-115: the buffers of components 0 and 2 become ready in this order. */
static void check_set(uint32_t first, uint32_t last)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT};
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    specs[0].burst_buffer = (char *)"#BB_LUA a";
    specs[2].burst_buffer = (char *)"#BB_LUA c";
    uint32_t id = (uint32_t)fixture_submit_set(f, &user, specs, 3);
    assert_null(get_live(f, &arena, id + 1)->burst);
    assert_null(fixture_job(f, &arena, id + 1)->spec->burst_buffer);
    assert_string_equal(fixture_job(f, &arena, id + 2)->spec->burst_buffer, "#BB_LUA c");
    answer_stage_in(f, id);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    answer_stage_in(f, id + 2);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    answer_start(f, id + first);
    assert_int_equal(fixture_launches(f, "n1", id), 0); /* the other component is not ready */
    answer_start(f, id + last);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_launched(f, "n1", id, 0);
    end_job(f, id, 0, 0);
    run_stage_out(f, id);
    run_stage_out(f, id + 2);
    expect_state(f, id, "complete", "None");
    expect_state(f, id + 2, "complete", "None");
    fixture_free(f);
}

static void a_buffer_belongs_to_one_component(void **state)
{
    (void)state;
    check_set(0, 2);
    check_set(2, 0);
}

static size_t count_buffers(struct fixture *f, const struct caller *who)
{
    _cleanup_arena_ struct arena arena;
    Pb__Empty nothing = PB__EMPTY__INIT;
    arena_init(&arena, 0);
    control_burst_list(f->control, ++f->last_call, who, &nothing);
    vec_foreach (&f->replies, r)
        if (r->call == f->last_call) {
            const Pb__BurstList *m =
                arena_unpack(&arena, &pb__burst_list__descriptor, r->data.data, r->data.len);
            return m->n_buffers;
        }
    fail_msg("no reply");
    return 0;
}

static void buffers_of_others_are_private_as_configured(void **state)
{
    static const struct {
        const char *line;
        size_t seen;
    } rows[] = {{"", 1}, {"BurstBufferConf=1 Flags=PrivateData\n", 0}, {"PrivateData=jobs\n", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_free_ char *lines = mem_printf("%s%s", CONF, rows[i].line);
        struct fixture *f = fixture_new_up(lines, 1);
        uint32_t id = submit_lines(f, "#BB_LUA x");
        answer_call(f, id, "setup", 0, NULL);
        assert_int_equal(count_buffers(f, &FIXTURE_USER), 1);
        assert_int_equal(count_buffers(f, &FIXTURE_OTHER), rows[i].seen);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_of_others_are_private_as_configured),
        cmocka_unit_test(unavailable_buffers_are_refused),
        cmocka_unit_test(sizes_have_binary_and_decimal_units),
        cmocka_unit_test(buffer_passes_all_phases),
        cmocka_unit_test(mail_reports_the_stage_out),
        cmocka_unit_test(each_array_element_has_its_own_buffer),
        cmocka_unit_test(elements_wait_for_their_pool_in_order),
        cmocka_unit_test(each_component_of_each_element_has_a_buffer),
        cmocka_unit_test(changed_buffer_is_set_up_again),
        cmocka_unit_test(a_running_job_keeps_its_buffer),
        cmocka_unit_test(job_requeued_after_its_end_gets_a_new_buffer),
        cmocka_unit_test(reconfiguration_loses_no_script_call),
        cmocka_unit_test(a_crash_at_any_point_loses_nothing),
        cmocka_unit_test(a_cancelled_job_is_torn_down),
        cmocka_unit_test(hurried_cancellation_skips_the_stage_out),
        cmocka_unit_test(a_failed_stage_in_holds_the_job),
        cmocka_unit_test(a_stage_in_that_takes_too_long_is_torn_down),
        cmocka_unit_test(a_failed_pre_run_requeues_held),
        cmocka_unit_test(a_failed_stage_out_is_kept),
        cmocka_unit_test(a_teardown_is_tried_three_times),
        cmocka_unit_test(requeued_job_passes_all_phases_again),
        cmocka_unit_test(capacity_of_a_pool_is_limited),
        cmocka_unit_test(a_set_has_all_of_its_buffers_or_none),
        cmocka_unit_test(a_changed_component_still_fits_with_its_set),
        cmocka_unit_test(two_sets_never_wait_for_each_other),
        cmocka_unit_test(a_buffer_belongs_to_one_component),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
