/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/port.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define TCP_LISTEN_STATE 0x0a

int rpc_port_find(FILE *table, uint16_t port, uid_t *uid, bool *listens)
{
    char line[512];
    int found = 0;

    while (fgets(line, sizeof(line), table)) {
        unsigned local, state, owner;

        /* "  0: 0100007F:1AA1 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 ..." */
        if (sscanf(line,
                   " %*u: %*32[0-9A-Fa-f]:%4x %*32[0-9A-Fa-f]:%*4x %2x %*8x:%*8x %*2x:%*8x "
                   "%*8x %u",
                   &local, &state, &owner) != 3 ||
            local != port)
            continue;
        if (found && state != TCP_LISTEN_STATE)
            continue;
        found = 1;
        *uid = owner;
        *listens = state == TCP_LISTEN_STATE;
        if (*listens)
            break;
    }
    return found;
}

/* Makes "uid 1000 listens there", if the kernel has the information. */
static void describe_holder(uint16_t port, char text[64])
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    bool found = false, listens = false;
    uid_t uid = 0;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !listens; i++) {
        FILE *f = fopen(tables[i], "re");
        uid_t owner;
        bool is_listener;

        if (!f)
            continue;
        if (rpc_port_find(f, port, &owner, &is_listener) && (!found || is_listener)) {
            found = true;
            uid = owner;
            listens = is_listener;
        }
        fclose(f);
    }
    if (found)
        snprintf(text, 64, "uid %u %s", (unsigned)uid,
                 listens ? "listens there" : "has a connection from there");
    else
        snprintf(text, 64, "the kernel does not tell by which user");
}

/* Whether SIGTERM or SIGINT, which are blocked here, becomes pending within the pause. */
static bool pause_or_stop(void)
{
    struct timespec pause = {.tv_nsec = RPC_PORT_RETRY_MS * 1000000L};
    sigset_t pending;

    nanosleep(&pause, NULL);
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

int rpc_port_listen(struct rpc_server *s, const char *addr, uint16_t port,
                    void (*tell)(const char *why), struct err *err)
{
    int64_t now = loop_mono_ms(), until = now + RPC_PORT_WAIT_MS, tell_at = now;
    sigset_t stops, before;
    char holder[64];
    int rc;

    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    sigprocmask(SIG_BLOCK, &stops, &before);
    while ((rc = rpc_server_listen_tcp(s, addr, port, err)) == -EADDRINUSE) {
        char why[160];

        now = loop_mono_ms();
        describe_holder(port, holder);
        if (now >= until) {
            err_set(err, rc,
                    "port %u is in use: %s. End that process (find it with: ss -ltnp 'sport = "
                    ":%u'), or configure another port",
                    port, holder, port);
            break;
        }
        if (now >= tell_at) {
            snprintf(why, sizeof(why), "port %u is in use: %s; trying again for %" PRId64 " s",
                     port, holder, (until - now + 999) / 1000);
            tell(why);
            tell_at = now + RPC_PORT_TELL_MS;
        }
        if (pause_or_stop()) {
            err_set(err, -ERR_SHUTDOWN, "told to stop while port %u was in use: %s", port, holder);
            rc = -ERR_SHUTDOWN;
            break;
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}
