/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "rpc/place.h"

static struct conf_host hosts[3] = {
    {.name = "a", .addr = "a", .rank = 0},
    {.name = "b", .addr = "10.0.0.2", .rank = 1},
    {.name = "c", .addr = "c", .rank = 2},
};

static void check_places(const struct conf *conf, const char *const *want)
{
    size_t count;
    _cleanup_free_ struct rpc_place *places = rpc_place_list(conf, &count);

    for (size_t i = 0; i < count; i++) {
        char text[RPC_PLACE_TEXT_MAX];
        assert_non_null(want[i]);
        rpc_place_text(conf, &places[i], text);
        assert_string_equal(text, want[i]);
    }
    assert_null(want[count]);
}

static void places_are_tried_in_order(void **state)
{
    static const char *const all[] = {"/run/s/slurmctld",
                                      "/run/s/slurmctld-1",
                                      "/run/s/slurmctld-2",
                                      "a:6817",
                                      "10.0.0.2:6817",
                                      "c:6817",
                                      NULL};
    static const char *const moving[] = {"/run/s/slurmctld", "/run/s/slurmctld-1",
                                         "/run/s/slurmctld-2", "vip:6817", NULL};
    struct conf conf = {.slurmctld_port = 6817, .socket_dirs = {"/run/s"}, .socket_dir_count = 1};

    conf.controllers.data = hosts;
    conf.controllers.len = 3;
    unsetenv("SLUICE_NO_LOCAL_SOCKET");
    check_places(&conf, all);
    setenv("SLUICE_NO_LOCAL_SOCKET", "1", 1);
    check_places(&conf, all + 3);
    unsetenv("SLUICE_NO_LOCAL_SOCKET");
    for (int i = 0; i < 3; i++)
        hosts[i].addr = "vip"; /* SlurmctldAddr: asked once */
    check_places(&conf, moving);
}

/* A single place gets all of the time; of several, unreachable ones leave enough for the last. */
static void time_is_shared_among_places(void **state)
{
    static const struct {
        int64_t remaining_ms, left, count, round, want_ms;
    } rows[] = {
        {10000, 1, 1, 0, 10000}, {10000, 2, 2, 0, 250}, {9750, 1, 2, 0, 250}, {9400, 2, 2, 1, 500},
        {5250, 1, 2, 4, 2625},   {600, 2, 2, 9, 150},   {1000, 3, 3, 0, 166},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(rpc_place_patience(rows[i].remaining_ms, (size_t)rows[i].left,
                                            (size_t)rows[i].count, (unsigned)rows[i].round),
                         rows[i].want_ms);
}

/* Which failures try another place, and which try the same place again. */
static void failure_decides_whether_another_place_is_tried(void **state)
{
    enum { NO, ELSEWHERE, AGAIN };
    static const struct {
        enum rpc_number rpc;
        int code, alone, of_several;
    } rows[] = {
        {RPC_SUBMIT, -ERR_ACCESS, NO, NO},          {RPC_SUBMIT, -ERR_TIMEOUT, NO, NO},
        {RPC_SUBMIT, -ERR_CLOSED, NO, NO},          {RPC_JOB_LIST, -ERR_CLOSED, ELSEWHERE, AGAIN},
        {RPC_SUBMIT, -ERR_STANDBY, AGAIN, AGAIN},   {RPC_SUBMIT, -ERR_STORE, NO, AGAIN},
        {RPC_SUBMIT, -ERR_STORE_FULL, NO, NO},      {RPC_SUBMIT, -ERR_REPLAY, NO, AGAIN},
        {RPC_SUBMIT, -ERR_SHUTDOWN, NO, ELSEWHERE}, {RPC_SUBMIT, -ERR_UNPROVEN, NO, ELSEWHERE},
        {RPC_SUBMIT, -ERR_AUTH, NO, ELSEWHERE},     {RPC_SUBMIT, -ERR_SKEW, NO, ELSEWHERE},
    };
    struct conf conf = {.slurmctld_port = 6817};

    conf.controllers.data = hosts;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        int want = i % 2 ? rows[i / 2].of_several : rows[i / 2].alone;
        bool again = false;

        conf.controllers.len = 1 + i % 2;
        assert_int_equal(
            rpc_place_is_passing(&conf, rpc_find(rows[i / 2].rpc), rows[i / 2].code, &again),
            want != NO);
        assert_int_equal(again, want == AGAIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_tried_in_order),
        cmocka_unit_test(time_is_shared_among_places),
        cmocka_unit_test(failure_decides_whether_another_place_is_tried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
