/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>

#include "base/owner.h"

#define TAIL " 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 20"

static void invalid_socket_lines_are_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
        "timeout "
        "inode",
        "   0: 0100007F:0016",
        "   0: 0100007F:0016 0100007F" TAIL,
        "   0: 0100007:0016 0100007F:8000" TAIL,
        "   0: 0100007F0000:0016 0100007F:8000" TAIL,
        "   0: 0100007G:0016 0100007F:8000" TAIL,
        "   0: 0100007F:0016 0100007F:8000 01 00000000:00000000 00:00000000 00000000  1000 0",
        "   0: 0100007F:0016 0100007F:8000 0A 0:0 00:0 0 1000 0 4711", /* it listens */
        /* No process has it any longer. */
        "   0: 0100007F:0016 0100007F:8000 01 0:0 00:0 0 1000 0 0",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct owner_end local, remote;
        uint64_t inode;
        uid_t uid;

        if (owner_parse_line(lines[i], &local, &remote, &uid, &inode))
            fail_msg("taken: %s", lines[i]);
    }
}

/* The words are in the machine's byte order, as are the expected bytes. */
static void socket_lines_are_parsed(void **state)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct owner_end local, remote;
    uint8_t packed[OWNER_END_SIZE];
    uint32_t word = 0x0100007F;
    uint64_t inode;
    uid_t uid;

    assert_true(
        owner_parse_line("   0: 0100007F:0016 0200007F:8001" TAIL, &local, &remote, &uid, &inode));
    assert_int_equal(uid, 1000);
    assert_int_equal(inode, 4711);
    assert_int_equal(local.port, 22);
    assert_int_equal(remote.port, 0x8001);
    assert_memory_equal(local.addr, mapped, sizeof(mapped));
    assert_memory_equal(local.addr + 12, &word, 4);
    assert_true(owner_parse_line("  12: 0000000000000000FFFF00000100007F:0016 "
                                 "00000000000000000000000001000000:8001" TAIL,
                                 &local, &remote, &uid, &inode));
    owner_end_pack(&remote, packed);
    assert_int_equal(packed[16] << 8 | packed[17], 0x8001);
    owner_end_unpack(packed, &local);
    assert_memory_equal(local.addr, remote.addr, 16);
    assert_int_equal(local.port, remote.port);
}

static void end_of(int fd, bool other, struct owner_end *out)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = sizeof(sa);

    assert_int_equal(other ? getpeername(fd, (struct sockaddr *)&sa, &len)
                           : getsockname(fd, (struct sockaddr *)&sa, &len),
                     0);
    assert_int_equal(owner_end_of(&sa, out), 0);
}

static void owner_of_our_own_connection_is_found(void **state)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), got;
    struct owner_end local, remote;
    socklen_t len = sizeof(to);
    pid_t pid = 0;

    assert_int_equal(bind(server, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&to, &len), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof(to)), 0);
    got = accept(server, NULL, NULL);
    assert_true(got >= 0);
    end_of(client, false, &local);
    end_of(client, true, &remote);
    assert_int_equal(owner_find(&local, &remote, geteuid(), &pid), 0);
    assert_int_equal(pid, getpid());
    assert_int_equal(owner_find(&local, &remote, geteuid() + 1, &pid), -ENOENT);
    local.port ^= 1;
    assert_int_equal(owner_find(&local, &remote, geteuid(), &pid), -ENOENT);
    close(got);
    close(client);
    close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_socket_lines_are_refused),
        cmocka_unit_test(socket_lines_are_parsed),
        cmocka_unit_test(owner_of_our_own_connection_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
