/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the rule about licences of reservations against a check of each minute of a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/pb.h"
#include "base/test_drawn.h"
#include "sim/rule/rule.h"

#define DRAWS TEST_DRAWN(5000)
#define RESVS 3
#define MINUTES 360 /* duration of the job */
#define HOUR 60

struct drawn { /* all times are minutes from the start of the job */
    int64_t begin, length;
    bool hourly, floats;
};

static bool is_there(const struct drawn *r, int64_t minute)
{
    int64_t since = minute - r->begin;
    return since >= 0 && (r->hourly ? since % HOUR : since) < r->length;
}

static bool too_many(const struct drawn resvs[static RESVS], uint64_t licences)
{
    for (int64_t minute = 0; minute < MINUTES; minute++) {
        uint64_t count = 1; /* licences of the job */
        for (int i = 0; i < RESVS; i++)
            count += is_there(&resvs[i], minute);
        if (count > 1 && count > licences)
            return true;
    }
    return false;
}

static void add_resv(struct sim *s, const struct drawn *drawn, int number, int64_t start_at)
{
    static const char *const names[RESVS] = {"r1", "r2", "r3"};
    Pb__ResvRecord m = PB__RESV_RECORD__INIT;
    struct str data = STR_INIT;
    m.name = (char *)names[number];
    m.licenses = (char *)"a:1";
    m.flags = (char *)(drawn->hourly ? "HOURLY" : drawn->floats ? "TIME_FLOAT" : "");
    SET(&m, start_at, start_at + drawn->begin * 60);
    SET(&m, end_at, m.start_at + drawn->length * 60);
    if (drawn->floats) {
        SET(&m, float_sec, drawn->begin * 60);
        SET(&m, float_length_sec, drawn->length * 60);
    }
    pb_pack(&m.base, &data);
    sim_resv_put(
        s, &(struct sim_record){.name = m.name, .data = (uint8_t *)data.data, .len = data.len});
    str_done(&data);
}

static bool rule_objects(const struct drawn resvs[static RESVS], uint64_t licences)
{
    struct sim_plan plan = {0};
    struct sim_result result = {0};
    struct sim_ctl controller = {0};
    struct sim s = {.plan = &plan, .result = &result, .c = &controller};
    struct sim_item item = {.kind = SIM_ITEM_CONF};
    struct sim_watch w = {.job_id = 1,
                          .view = {.there = true,
                                   .state = PB__JOB_STATE__RUNNING,
                                   .start_at = sim_wall_ms(&s) / 1000,
                                   .limit_sec = (int64_t)MINUTES * 60,
                                   .asked_licenses = "a",
                                   .licenses = "a"}};
    snprintf(item.text, sizeof item.text, "Licenses=a:%llu", (unsigned long long)licences);
    vec_push(&plan.items, item);
    HASH_ADD(hh, s.watches, job_id, sizeof w.job_id, &w);
    for (int i = 0; i < RESVS; i++)
        add_resv(&s, &resvs[i], i, w.view.start_at);
    sim_license_check(&s, &w, "a");
    HASH_DEL(s.watches, &w);
    sim_resv_clear(&s);
    vec_done(&s.resvs);
    vec_done(&plan.items);
    return s.broken.code != 0;
}

static void kept_licences_are_checked_at_every_occurrence(void **state)
{
    struct rng rng = {1};
    uint32_t broken = 0;
    for (int n = 0; n < DRAWS; n++) {
        struct drawn resvs[RESVS];
        for (int i = 0; i < RESVS; i++) {
            int64_t kind = rng_between(&rng, 0, 2);
            resvs[i] = (struct drawn){.begin = rng_between(&rng, 0, MINUTES + HOUR),
                                      .length = rng_between(&rng, 1, HOUR - 1),
                                      .hourly = kind == 0,
                                      .floats = kind == 1};
        }
        uint64_t licences = (uint64_t)rng_between(&rng, 1, RESVS);
        bool expected = too_many(resvs, licences);
        broken += expected;
        if (rule_objects(resvs, licences) != expected)
            fail_msg("draw %d: the rule %s", n, expected ? "overlooks it" : "objects");
    }
    assert_in_range(broken, DRAWS / 10, DRAWS - DRAWS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_licences_are_checked_at_every_occurrence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
