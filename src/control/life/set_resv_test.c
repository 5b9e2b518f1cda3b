/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Magnetic reservations and heterogeneous jobs: a set is attracted as a whole, or not at all. */
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nNodeName=n[1-4] CPUs=4\n"                                       \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60\n"

/* On n1 and n2, for these accounts. */
static struct fixture *make_fixture(const char *lines, const char *accounts)
{
    struct fixture *f = fixture_new_up(lines, 4);
    struct caller root = FIXTURE_ROOT;
    Pb__ResvUpdate m = PB__RESV_UPDATE__INIT;
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    m.has_create = m.create = true;
    m.set = &set;
    set.name = (char *)"m";
    set.has_start_at = set.has_duration_sec = true;
    set.start_at = f->wall_ms / 1000;
    set.duration_sec = 60000;
    set.nodes = (char *)"n[1-2]";
    set.accounts = (char *)accounts;
    set.flags = (char *)"MAGNETIC";
    control_resv_update(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    return f;
}

/* Two components of a node each: in which reservation (NULL: in none) each runs. */
static void expect(struct fixture *f, const char *const *accounts, const char *asked,
                   const char *resv)
{
    struct caller ann = FIXTURE_USER;
    Pb__JobSpec specs[2];
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < 2; i++) {
        pb__job_spec__init(&specs[i]);
        specs[i].account = (char *)accounts[i];
        specs[i].reservation = (char *)asked;
        specs[i].has_exclusive = specs[i].exclusive = true;
    }
    int64_t id = fixture_submit_set(f, &ann, specs, 2);
    assert_true(id > 0);
    for (uint32_t i = 0; i < 2; i++) {
        const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id + i)->live;
        assert_int_equal(live->state, PB__JOB_STATE__RUNNING);
        if (!str_eq(live->reservation, resv))
            fail_msg("component %u is in %s", i, live->reservation ? live->reservation : "none");
    }
    fixture_free(f);
}

/* HET-98 */
static void magnets_attract_whole_sets(void **state)
{
    static const char *const both[] = {"phys", "phys"}, *const one[] = {"phys", "chem"};
    (void)state;
    expect(make_fixture(CONF, "phys"), both, NULL, "m");
    expect(make_fixture(CONF, "phys"), one, NULL, NULL);
    expect(make_fixture(CONF, "phys,chem"), one, NULL, "m");
    expect(make_fixture(CONF "HetLimits=magnetic\n", "phys"), both, NULL, NULL);
    expect(make_fixture(CONF "HetLimits=magnetic\n", "phys"), both, "m", "m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(magnets_attract_whole_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
