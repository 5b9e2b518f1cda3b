/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "show/gang.h"

static Pb__GangMember members[3];
static Pb__GangSlot slots[2];
static uint32_t first[] = {7, 9}, second[] = {8, 9};

static void fill_member(Pb__GangMember *m, uint32_t job, const char *part, int64_t run_sec,
                        int64_t suspended_sec)
{
    pb__gang_member__init(m);
    m->job_id = job;
    m->name = job == 9 ? "6_2" : job == 8 ? "8" : "7"; /* job 9 is an element of a job array */
    m->partition = (char *)part;
    m->has_runs = m->runs = job != 8;
    m->has_run_sec = m->has_suspended_sec = true;
    m->run_sec = run_sec;
    m->suspended_sec = suspended_sec;
    m->nodes = "n[1-2]";
}

static void fill_reply(Pb__GangReply *r)
{
    static Pb__GangMember *list[] = {&members[0], &members[1], &members[2]};
    static char *parts[] = {"day", "night", "idle"};
    static Pb__GangSlot *turns[] = {&slots[0], &slots[1]};
    pb__gang_reply__init(r);
    fill_member(&members[0], 7, "day", 90, 30);
    fill_member(&members[1], 8, "day", 0, 0);
    fill_member(&members[2], 9, "night", 3661, 61);
    pb__gang_slot__init(&slots[0]);
    pb__gang_slot__init(&slots[1]);
    slots[0].job_id = first;
    slots[0].n_job_id = 2;
    slots[1].job_id = second;
    slots[1].n_job_id = 2; /* 9 has had its turn: of its partition one slot is shown */
    r->has_on = r->on = r->has_slice_sec = r->has_switch_ms = true;
    r->slice_sec = 30;
    r->switch_ms = 2001;
    r->members = list;
    r->n_members = 3;
    r->slots = turns;
    r->n_slots = 2;
    r->partitions = parts;
    r->n_partitions = 3;
}

static void text_of_each_partition(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    Pb__GangReply r;
    fill_reply(&r);
    assert_true(show_gang_text(&r, NULL, &out));
    assert_string_equal(
        str_cstr(&out),
        "Partition=day SchedulerTimeSlice=30 NextSwitch=3\n"
        "   Slot=0 (now) Jobs=7\n   Slot=1 Jobs=8\n"
        "   JobId=7 JobState=RUNNING RunTime=00:01:30 SuspendedTime=00:00:30 Share=75% "
        "NodeList=n[1-2]\n"
        "   JobId=8 JobState=SUSPENDED RunTime=00:00:00 SuspendedTime=00:00:00 Share=0% "
        "NodeList=n[1-2]\n"
        "Partition=night SchedulerTimeSlice=30 NextSwitch=3\n"
        "   Slot=0 (now) Jobs=6_2\n"
        "   JobId=6_2 JobState=RUNNING RunTime=01:01:01 SuspendedTime=00:01:01 Share=98% "
        "NodeList=n[1-2]\n");
    str_clear(&out);
    assert_false(show_gang_text(&r, "idle", &out));
    show_gang_none(&r, "idle", &out);
    assert_string_equal(str_cstr(&out), "No job of partition idle takes part in gang scheduling");
}

static void only_partitions_of_the_cluster_are_known(void **state)
{
    Pb__GangReply r;
    fill_reply(&r);
    assert_true(show_gang_has_partition(&r, NULL));
    assert_true(show_gang_has_partition(&r, "idle")); /* although it has no jobs */
    assert_false(show_gang_has_partition(&r, "dusk"));
}

static void job_without_turns_is_listed(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    static Pb__GangAlone one = PB__GANG_ALONE__INIT;
    static Pb__GangAlone *list[] = {&one};
    Pb__GangReply r = PB__GANG_REPLY__INIT;
    (void)state;
    one.job_id = 4;
    one.name = (char *)"3_1";
    one.partition = (char *)"day";
    one.nodes = (char *)"n3";
    one.reason = (char *)"GangDevices=no";
    r.slice_sec = 30;
    r.alone = list;
    r.n_alone = 1;
    assert_true(show_gang_text(&r, "day", &out));
    assert_string_equal(str_cstr(&out),
                        "Partition=day SchedulerTimeSlice=30 NextSwitch=None\n"
                        "   JobId=3_1 NodeList=n3 takes no turns: GangDevices=no\n");
    assert_false(show_gang_text(&r, "dusk", &out));
    json_t *all = show_gang_json(&r, NULL), *jobs = json_object_get(all, "jobs_without_turns");
    assert_int_equal(json_array_size(jobs), 1);
    const json_t *job = json_array_get(jobs, 0);
    assert_int_equal(json_integer_value(json_object_get(job, "job_id")), 4);
    assert_string_equal(json_string_value(json_object_get(job, "job")), "3_1");
    assert_string_equal(json_string_value(json_object_get(job, "reason")), "GangDevices=no");
    json_decref(all);
}

static void json_says_the_same(void **state)
{
    Pb__GangReply r;
    fill_reply(&r);
    json_t *all = show_gang_json(&r, "day"), *jobs = json_object_get(all, "jobs");
    assert_int_equal(json_array_size(jobs), 2);
    const json_t *job = json_array_get(jobs, 0);
    assert_int_equal(json_integer_value(json_object_get(job, "job_id")), 7);
    assert_string_equal(json_string_value(json_object_get(job, "job")), "7");
    assert_int_equal(json_integer_value(json_object_get(job, "run_seconds")), 90);
    assert_int_equal(json_integer_value(json_object_get(job, "suspended_seconds")), 30);
    assert_int_equal(json_integer_value(json_object_get(job, "share_percent")), 75);
    assert_true(json_is_true(json_object_get(job, "running")));
    assert_true(json_is_false(json_object_get(json_array_get(jobs, 1), "running")));
    const json_t *turns = json_object_get(all, "slots");
    assert_int_equal(json_array_size(json_array_get(turns, 0)), 1); /* 9 is of another partition */
    assert_int_equal(json_integer_value(json_object_get(all, "next_switch_milliseconds")), 2001);
    json_decref(all);
}

static void next_turn_of_a_job_is_shown(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    Pb__GangReply r;
    fill_reply(&r);
    show_gang_turn(&r, 7, &out);
    assert_string_equal(str_cstr(&out), "");
    show_gang_turn(&r, 8, &out);
    assert_string_equal(str_cstr(&out), "  Its turn comes in 0:03, in slot 1 of the rotation; "
                                        "scontrol show gang prints all slots.\n");
    str_clear(&out);
    show_gang_turn(&r, 5, &out);
    assert_string_equal(str_cstr(&out), "");
    r.has_more_slots = r.more_slots = true;
    show_gang_turn(&r, 5, &out);
    assert_string_equal(str_cstr(&out),
                        "  Its turn comes after the 2 slots that scontrol show gang prints.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_each_partition),
        cmocka_unit_test(only_partitions_of_the_cluster_are_known),
        cmocka_unit_test(job_without_turns_is_listed),
        cmocka_unit_test(json_says_the_same),
        cmocka_unit_test(next_turn_of_a_job_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
