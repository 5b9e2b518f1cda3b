/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ResvProlog and ResvEpilog: when each runs; a crash loses neither, and none runs twice. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define NODES                                                                                      \
    "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SlurmdTimeout=0\n"
#define BOTH NODES "ResvProlog=/p\nResvEpilog=/e\nPrologEpilogTimeout=30\n"
#define PROLOG PB__SCRIPT_KIND__SCRIPT_RESV_PROLOG
#define EPILOG PB__SCRIPT_KIND__SCRIPT_RESV_EPILOG
#define SEC INT64_C(1000)

static void create_reservation(struct fixture *f, char *name, int64_t in_sec, int64_t length_sec,
                               char *flags)
{
    struct caller root = FIXTURE_ROOT;
    Pb__ResvUpdate m = PB__RESV_UPDATE__INIT;
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    m.set = &set;
    m.has_create = m.create = true;
    set.name = name;
    set.nodes = (char *)"n1";
    set.users = (char *)"root";
    set.flags = flags;
    set.has_start_at = set.has_duration_sec = true;
    set.start_at = f->wall_ms / 1000 + in_sec;
    set.duration_sec = length_sec;
    control_resv_update(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
}

static void skip_one(struct fixture *f, char *name)
{
    struct caller root = FIXTURE_ROOT;
    Pb__ResvUpdate m = PB__RESV_UPDATE__INIT;
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    m.set = &set;
    m.has_skip = m.skip = true;
    set.name = name;
    control_resv_update(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
}

static void remove_it(struct fixture *f, char *name)
{
    struct caller root = FIXTURE_ROOT;
    Pb__ResvDelete m = PB__RESV_DELETE__INIT;
    m.name = name;
    control_resv_delete(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
}

/* The next program to run is this one for this reservation; 0: none. */
static void assert_next_program(struct fixture *f, int kind, const char *name)
{
    if (!kind) {
        assert_int_equal(f->scripts.len, 0);
        return;
    }
    if (f->scripts.len != 1)
        fail_msg("%s %s: %u are to be run", kind == PROLOG ? "begin" : "end", name,
                 (unsigned)f->scripts.len);
    const struct fixture_script *s = &f->scripts.data[0];
    _cleanup_free_ char *line = mem_printf("%s\n", name);
    assert_string_equal(s->path, kind == PROLOG ? "/p" : "/e");
    assert_string_equal(str_cstr(&s->argv), line);
    assert_non_null(strstr(str_cstr(&s->env), "SLURM_CLUSTER_NAME=test\n"));
    assert_int_equal(s->limit_sec, 30);
    fixture_script_ended(f, kind, s->job_id, 0);
}

static void scripts_run_at_begin_and_end_of_a_reservation(void **state)
{
    struct fixture *f = fixture_new(BOTH);
    (void)state;
    create_reservation(f, (char *)"r", 10, 100, NULL);
    assert_next_program(f, 0, NULL);
    fixture_pass(f, 11 * SEC);
    assert_next_program(f, PROLOG, "r");
    fixture_restart(f); /* it is active, and this is stored */
    fixture_turn(f);
    assert_next_program(f, 0, NULL);
    fixture_pass(f, 200 * SEC);
    assert_next_program(f, EPILOG, "r");
    fixture_pass(f, 1000 * SEC);
    assert_next_program(f, 0, NULL);
    create_reservation(f, (char *)"s", 0, 100, NULL); /* at once */
    assert_next_program(f, PROLOG, "s");
    remove_it(f, (char *)"s");
    assert_next_program(f, EPILOG, "s");
    create_reservation(f, (char *)"t", 100, 100, NULL);
    remove_it(f, (char *)"t"); /* it has not begun */
    assert_next_program(f, 0, NULL);
    fixture_free(f);
}

static void scripts_run_at_each_occurrence(void **state)
{
    struct fixture *f = fixture_new(BOTH);
    (void)state;
    create_reservation(f, (char *)"r", 0, 600, (char *)"HOURLY");
    assert_next_program(f, PROLOG, "r");
    fixture_pass(f, 601 * SEC);
    assert_next_program(f, EPILOG, "r");
    fixture_pass(f, 3000 * SEC);
    assert_next_program(f, PROLOG, "r");
    skip_one(f, (char *)"r");
    assert_next_program(f, EPILOG, "r");
    skip_one(f, (char *)"r"); /* an occurrence that has not begun */
    assert_next_program(f, 0, NULL);
    fixture_free(f);
}

static void crash_loses_no_reservation_script(void **state)
{
    struct fixture *f = fixture_new(BOTH);
    (void)state;
    create_reservation(f, (char *)"r", 0, 600, (char *)"HOURLY");
    assert_int_equal(f->scripts.len, 1);
    fixture_clear(f);
    fixture_restart(f); /* the program ended with the controller */
    fixture_turn(f);
    assert_next_program(f, PROLOG, "r");
    fixture_restart(f);
    fixture_turn(f);
    assert_next_program(f, 0, NULL);
    fixture_pass(f, 601 * SEC);
    assert_int_equal(f->scripts.len, 1);
    fixture_clear(f);
    fixture_restart(f);
    fixture_turn(f);
    assert_next_program(f, EPILOG, "r");
    fixture_restart(f);
    fixture_turn(f);
    assert_next_program(f, 0, NULL);
    fixture_free(f);
}

static void failed_reservation_script_is_logged_only(void **state)
{
    struct fixture *f = fixture_new(BOTH);
    (void)state;
    create_reservation(f, (char *)"r", 0, 600, NULL);
    fixture_script_ended(f, PROLOG, 1, 1 << 8);
    fixture_restart(f);
    fixture_turn(f);
    assert_next_program(f, 0, NULL);
    remove_it(f, (char *)"r");
    fixture_script_ended(f, EPILOG, 1, 1 << 8); /* of a deleted reservation */
    fixture_free(f);
}

static void epilog_runs_without_a_prolog(void **state)
{
    struct fixture *f = fixture_new(NODES "ResvEpilog=/e\nPrologEpilogTimeout=30\n");
    (void)state;
    create_reservation(f, (char *)"r", 0, 600, NULL);
    assert_next_program(f, 0, NULL);
    fixture_restart(f);
    fixture_turn(f);
    fixture_pass(f, 700 * SEC);
    assert_next_program(f, EPILOG, "r");
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(scripts_run_at_begin_and_end_of_a_reservation),
        cmocka_unit_test(scripts_run_at_each_occurrence),
        cmocka_unit_test(crash_loses_no_reservation_script),
        cmocka_unit_test(failed_reservation_script_is_logged_only),
        cmocka_unit_test(epilog_runs_without_a_prolog),
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}
