/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flags of reservations, their occurrences, and their records. */
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/timefmt.h"
#include "cluster/cluster_test_util.h"
#include "cluster/resv/resv.h"

/* --- flags --- */

static void unknown_flags_are_refused(void **state)
{
    static const char *const cases[] = {"MAINTAIN",    "maint;flex",   "DAILY=1",
                                        "PURGE_COMP=", "PURGE_COMP=0", "PURGE_COMP=soon",
                                        "FLEX,WHAT"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t flags = 4711;
        int64_t purge = 7;
        struct err err = {0};
        print_message("%s\n", cases[i]);
        assert_int_equal(resv_parse_flags(cases[i], &flags, &purge, &err), -ERR_PARSE);
        assert_int_equal(flags, 4711);
        assert_int_equal(purge, 7);
    }
}

static void flags_are_parsed_and_formatted(void **state)
{
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"", ""},
        {"maint,ignore_jobs", "MAINT,IGNORE_JOBS"},
        {"magnetic,PURGE_COMP", "PURGE_COMP=00:05:00,MAGNETIC"},
        {"purge_comp=1:30", "PURGE_COMP=00:02:00"}, /* whole minutes */
        {"License_Only", "ANY_NODES"},
        {"static_alloc,no_hold_jobs_after", "STATIC,NO_HOLD_JOBS_AFTER_END"},
        {"DAILY,,FLEX", "FLEX,DAILY"},
        {"first_cores", "FIRST_CORES"},
        {"replace_down", "REPLACE_DOWN"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct resv r = {0};
        struct err err = {0};
        _cleanup_str_ struct str shown = STR_INIT;
        assert_int_equal(resv_parse_flags(cases[i].given, &r.flags, &r.purge_sec, &err), 0);
        resv_format_flags(&r, &shown);
        assert_string_equal(str_cstr(&shown), cases[i].shown);
    }
}

static void some_flags_cannot_be_changed(void **state)
{
    static const struct {
        uint32_t flag;
        bool may_add, may_take;
    } cases[] = {{RESV_MAINT, true, true},
                 {RESV_OVERLAP, true, false},
                 {RESV_TIME_FLOAT, false, false},
                 {RESV_SPEC_NODES, false, false},
                 {RESV_REPLACE, true, false},
                 {RESV_DAILY, true, true},
                 {0, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        assert_int_equal(resv_check_change(cases[i].flag, true, &err) == 0, cases[i].may_add);
        assert_int_equal(resv_check_change(cases[i].flag, false, &err) == 0, cases[i].may_take);
    }
}

/* --- time --- */

static int64_t parse_time(const char *text)
{
    struct tm tm = {.tm_isdst = -1};
    assert_non_null(strptime(text, "%Y-%m-%dT%H:%M:%S", &tm));
    return mktime(&tm);
}

static void set_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

/* 2026-03-27 is a Friday; on the 29th daylight saving time begins. */
static void next_occurrence_is_found(void **state)
{
    static const struct {
        uint32_t flags;
        const char *begin, *end, *asked, *expected_begin, *expected_end;
    } cases[] = {
        {0, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-03-27T09:00:00",
         "2026-03-27T10:00:00", "2026-03-27T11:00:00"},
        {0, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-03-27T11:00:00", NULL, NULL},
        {RESV_HOURLY, "2026-03-27T10:00:00", "2026-03-27T10:20:00", "2026-03-27T10:20:00",
         "2026-03-27T11:00:00", "2026-03-27T11:20:00"},
        {RESV_HOURLY, "2026-03-27T10:00:00", "2026-03-27T10:20:00", "2026-03-27T15:10:00",
         "2026-03-27T15:00:00", "2026-03-27T15:20:00"},
        {RESV_DAILY, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-03-27T10:59:59",
         "2026-03-27T10:00:00", "2026-03-27T11:00:00"},
        {RESV_DAILY, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-03-27T11:00:00",
         "2026-03-28T10:00:00", "2026-03-28T11:00:00"},
        {RESV_DAILY, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-04-02T10:30:00",
         "2026-04-02T10:00:00", "2026-04-02T11:00:00"}, /* in local time */
        {RESV_WEEKLY, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-03-27T12:00:00",
         "2026-04-03T10:00:00", "2026-04-03T11:00:00"},
        {RESV_WEEKLY, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-05-01T11:00:00",
         "2026-05-08T10:00:00", "2026-05-08T11:00:00"},
        {RESV_WEEKDAY, "2026-03-27T10:00:00", "2026-03-27T11:00:00", "2026-03-27T12:00:00",
         "2026-03-30T10:00:00", "2026-03-30T11:00:00"},
        {RESV_WEEKEND, "2026-03-28T10:00:00", "2026-03-28T11:00:00", "2026-03-29T12:00:00",
         "2026-04-04T10:00:00", "2026-04-04T11:00:00"},
    };
    static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York"};
    for (size_t i = 0; i < 3 * sizeof cases / sizeof cases[0]; i++) {
        size_t k = i / 3;
        struct resv_time t;
        set_zone(zones[i % 3]);
        struct resv r = {.flags = cases[k].flags,
                         .zone = &time_zone_host,
                         .start_at = parse_time(cases[k].begin),
                         .end_at = parse_time(cases[k].end)};
        print_message("%s, case %zu\n", zones[i % 3], k);
        bool occurs = resv_occurs(&r, parse_time(cases[k].asked), &t);
        assert_int_equal(occurs, cases[k].expected_begin != NULL);
        if (!occurs)
            continue;
        assert_int_equal(t.begin, parse_time(cases[k].expected_begin));
        assert_int_equal(t.end, parse_time(cases[k].expected_end));
    }
    set_zone("UTC");
}

/* Every moment of a month: skipping gives the same result as single steps. */
static void skipping_occurrences_equals_stepping(void **state)
{
    static const uint32_t kinds[] = {RESV_HOURLY, RESV_DAILY, RESV_WEEKLY, RESV_WEEKDAY,
                                     RESV_WEEKEND};
    set_zone("Europe/Berlin");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int64_t first = parse_time("2026-03-21T10:00:00");
        struct resv far = {
            .flags = kinds[i], .zone = &time_zone_host, .start_at = first, .end_at = first + 1500};
        struct resv near = far;
        for (int64_t now = first; now < first + 30 * 86400; now += 1300) {
            struct resv_time t;
            assert_true(resv_occurs(&far, now, &t));
            assert_true(resv_advance(&near, now));
            assert_int_equal(t.begin, near.start_at);
            assert_int_equal(t.end, near.end_at);
            assert_true(t.end > now);
        }
    }
    set_zone("UTC");
}

/* Days have 24 hours if no time zone is given, whatever the zone of this process is. */
static void occurrences_follow_the_given_zone(void **state)
{
    static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York"};
    set_zone("UTC");
    int64_t first = parse_time("2026-03-27T10:00:00"), later = parse_time("2026-06-01T10:00:00");
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
        struct resv r = {.flags = RESV_WEEKDAY, .start_at = first, .end_at = first + 3600};
        struct resv_time t;
        set_zone(zones[i]);
        assert_true(resv_occurs(&r, later - 3 * 86400 + 3600, &t)); /* from Friday to Monday */
        assert_int_equal(t.begin, later);
    }
    set_zone("UTC");
}

static void floating_reservation_moves_with_time(void **state)
{
    struct resv r = {.flags = RESV_TIME_FLOAT,
                     .start_at = 1000,
                     .end_at = 2000,
                     .float_sec = 600,
                     .float_length_sec = 6000};
    assert_false(resv_overlaps(&r, 5000, 5600));
    assert_true(resv_overlaps(&r, 5000, 5601));
    assert_true(resv_advance(&r, 100000));
    r.float_length_sec = 0; /* until a fixed time */
    assert_true(resv_overlaps(&r, 1000, 1601));
    assert_false(resv_overlaps(&r, 1500, 9999));
    assert_false(resv_advance(&r, 2000));
    assert_false(resv_is_now(&r, 1700));
}

static void reservation_is_active_within_its_times(void **state)
{
    struct resv once = {.start_at = 1000, .end_at = 2000};
    struct resv hourly = {.flags = RESV_HOURLY, .start_at = 1000, .end_at = 2000};
    struct resv floating = {
        .flags = RESV_TIME_FLOAT, .start_at = 1000, .end_at = 2000, .float_sec = 60};
    assert_false(resv_is_at(&once, 0, 999));
    assert_true(resv_is_at(&once, 0, 1000) && resv_is_at(&once, 0, 1999));
    assert_false(resv_is_at(&once, 0, 2000));
    assert_true(resv_is_at(&hourly, 0, 4600) && resv_is_at(&hourly, 0, 5599));
    assert_false(resv_is_at(&hourly, 0, 4599) || resv_is_at(&hourly, 0, 5600));
    assert_true(resv_is_at(&floating, 1500, 1560));
    assert_false(resv_is_at(&floating, 1500, 1559) || resv_is_at(&floating, 1500, 2000));
}

/* --- records --- */

#define CONF CONS "NodeName=n[1-4] CPUs=4 RealMemory=100\nPartitionName=p Nodes=ALL\n"

static void reservation_record_is_packed_and_restored(void **state)
{
    struct cluster *c = test_cluster(CONF);
    struct resv *r = resv_new("x");
    struct str first = STR_INIT, second = STR_INIT;
    struct err err = {0};
    uint32_t cores, cpus;
    r->number = 7;
    r->flags = RESV_FLEX | RESV_PURGE_COMP | RESV_SPEC_NODES;
    r->purge_sec = 120;
    r->start_at = 1000;
    r->end_at = RESV_NEVER;
    r->delay_sec = 60;
    r->node_names = mem_strdup("n[2-3],n9"); /* n9 is not configured */
    r->core_count = mem_strdup("2,3,1");
    r->users = mem_strdup("-ann");
    vec_push(&r->cores, 2);
    vec_push(&r->cores, 3);
    vec_push(&r->cores, 1);
    resv_resolve(c, r);
    resv_pack(r, &first);
    Pb__ResvRecord *m = pb_unpack(&pb__resv_record__descriptor, first.data, first.len);
    assert_non_null(m);
    struct resv *again = resv_restore(c, m, &err);
    assert_non_null(again);
    resv_pack(again, &second);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
    assert_true(bitset_test(again->nodes, 1) && bitset_test(again->nodes, 2));
    assert_int_equal(bitset_count(again->nodes), 2);
    assert_int_equal(again->units[2], 3);
    resv_count(c, again, &cores, &cpus);
    assert_int_equal(cores, 5);
    pb__resv_record__free_unpacked(m, NULL);
    str_done(&first);
    str_done(&second);
    resv_free(r);
    resv_free(again);
    test_cluster_free(c);
}

/* Includes a record whose search for the next occurrence would never end. */
static void damaged_reservation_records_are_refused(void **state)
{
    static const struct {
        const char *name, *flags;
        int64_t start_at, end_at, float_sec, length_sec;
        const char *says;
    } cases[] = {
        {"", "", 1000, 5000, 0, 0, "no name"},
        {"x", "", 1000, 500, 0, 0, "no time"},
        {"x", "WHAT", 1000, 5000, 0, 0, "WHAT"},
        {"x", "WEEKDAY,WEEKEND", 1000, 5000, 0, 0, "two ways"},
        {"x", "WEEKLY,WEEKEND", 1000, 5000, 0, 0, "two ways"},
        {"x", "DAILY", INT64_MIN, 5000, 0, 0, "out of range"},
        {"x", "DAILY", 1000, INT64_MAX, 0, 0, "out of range"},
        {"x", "", INT64_MAX - 1, INT64_MAX, 0, 0, "out of range"},
        {"x", "TIME_FLOAT", 1000, 5000, INT64_MAX, 0, "out of range"},
        {"x", "TIME_FLOAT", 1000, 5000, -1, 0, "out of range"},
        {"x", "TIME_FLOAT", 1000, 5000, 60, INT64_MAX - 1, "out of range"},
        {"x", "TIME_FLOAT", 1000, 5000, 60, INT64_MAX, NULL},
        {"x", "WEEKEND", 1000, 5000, 0, 0, NULL},
    };
    struct cluster *c = test_cluster(CONF);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Pb__ResvRecord m = PB__RESV_RECORD__INIT;
        struct err err = {0};
        m.name = (char *)cases[i].name;
        m.flags = (char *)cases[i].flags;
        m.has_start_at = m.has_end_at = m.has_float_sec = m.has_float_length_sec = true;
        m.start_at = cases[i].start_at;
        m.end_at = cases[i].end_at;
        m.float_sec = cases[i].float_sec;
        m.float_length_sec = cases[i].length_sec;
        struct resv *r = resv_restore(c, &m, &err);
        assert_int_equal(r != NULL, cases[i].says == NULL);
        if (!r && !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
        resv_free(r);
    }
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_flags_are_refused),
        cmocka_unit_test(flags_are_parsed_and_formatted),
        cmocka_unit_test(some_flags_cannot_be_changed),
        cmocka_unit_test(next_occurrence_is_found),
        cmocka_unit_test(skipping_occurrences_equals_stepping),
        cmocka_unit_test(occurrences_follow_the_given_zone),
        cmocka_unit_test(floating_reservation_moves_with_time),
        cmocka_unit_test(reservation_is_active_within_its_times),
        cmocka_unit_test(reservation_record_is_packed_and_restored),
        cmocka_unit_test(damaged_reservation_records_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
