/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auth/auth.h"

static void peer_is_known_on_unix_sockets_only(void **state)
{
    struct auth_identity who;
    int fds[2], tcp = socket(AF_INET, SOCK_STREAM, 0), alone = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(auth_peer(-1, &who, NULL) < 0);
    assert_int_equal(pipe(fds), 0);
    assert_true(auth_peer(fds[0], &who, NULL) < 0);
    assert_int_equal(auth_peer(tcp, &who, NULL), -ERR_AUTH);
    assert_int_equal(auth_peer(alone, &who, NULL), -ERR_AUTH);
    close(fds[0]);
    close(fds[1]);
    close(tcp);
    close(alone);
}

static void peer_names_the_calling_user(void **state)
{
    struct auth_identity who;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(auth_peer(fds[0], &who, NULL), 0);
    assert_int_equal(who.uid, geteuid());
    assert_int_equal(who.gid, getegid());
    assert_true(strlen(who.host) > 0);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peer_is_known_on_unix_sockets_only),
        cmocka_unit_test(peer_names_the_calling_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
