/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/service.h"
#include "base/symbols.h"
#include "slurmstepd/pmixd/pmixd.h"
#include "slurmstepd/pmixd/pmixd_loop.h"

#define LIBRARY "libpmix.so.2"

static const struct symbol functions[] = {
#define PMIX(name) {#name, offsetof(struct pmixd_lib, name)},
#include "slurmstepd/pmixd/pmixd_lib.def"
#undef PMIX
};

/* Loads the library; -ERR_NOT_SUPPORTED names the missing file. */
static int get_library(const struct pmixd_lib **lib, struct err *err)
{
    static struct pmixd_lib table;
    /* Its plugins resolve symbols of the library. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);

    if (!library)
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "PMIx needs the library " LIBRARY " (Debian: package libpmix2): %s",
                       dlerror());
    const char *missing =
        symbols_find(library, functions, sizeof(functions) / sizeof(functions[0]), &table);
    if (missing)
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "PMIx needs " LIBRARY " of version 4 or 5: this one has no %s", missing);
    *lib = &table;
    return 0;
}

const char *pmixd_lib_version(const struct pmixd_lib *lib)
{
    static char version[32];
    const char *text = lib->PMIx_Get_version(); /* "OpenPMIx 4.2.2 (PMIx Standard: ..." */

    text += strcspn(text, "0123456789");
    snprintf(version, sizeof(version), "%.*s", (int)strspn(text, "0123456789."), text);
    return version;
}

#define SHEPHERD_FD 3
#define DESCRIPTORS_MAX 65536
#define MODULE_SIZE 1024 /* libpmix 5 has more functions than the version compiled against */

static int start_server(struct pmixd *p, const Pb__PmixStart *m, Pb__PmixStarted *answer,
                        struct err *err)
{
    _Alignas(max_align_t) static char module[MODULE_SIZE];
    int fds[2], rc = pmixd_job_init(&p->job, m, err);
    long long major;

    p->is_related = p->job.is_spawned;
    if (!rc)
        rc = get_library(&p->lib, err);
    if (rc)
        return rc;
    major = strtoll(pmixd_lib_version(p->lib), NULL, 10);
    if (m->has_major && m->major != major)
        return err_set(err, -ERR_NOT_SUPPORTED, "--mpi=pmix_v%u: the libpmix here is version %s",
                       m->major, pmixd_lib_version(p->lib));
    if (pipe2(fds, O_CLOEXEC))
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    p->wake_fd = fds[0];
    loop_fd_new(p->loop, fds[0], LOOP_READ, pmixd_ask_wake, p);
    pmixd_calls_init((pmix_server_module_t *)module, &p->job, p->lib, fds[1]);
    return pmixd_job_register(&p->job, p->lib, (pmix_server_module_t *)module, answer, err);
}

static void on_start(struct pmixd *p, uint64_t id, const Pb__PmixStart *m)
{
    Pb__PmixStarted answer = PB__PMIX_STARTED__INIT;
    struct err err = {0};

    answer.code = -start_server(p, m, &answer, &err);
    answer.text = err.text;
    if (answer.code)
        answer.n_env = 0;
    p->started = !answer.code;
    rpc_link_send(p->link, RPC_PMIXD_START, true, id, &answer.base);
}

static void on_pmixd_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                             const ProtobufCMessage *body)
{
    struct pmixd *p = ctx;
    bool reply = h->flags & RPC_FLAG_REPLY;

    if (h->rpc == RPC_PMIXD_START && !reply && !p->lib)
        on_start(p, h->id, (const Pb__PmixStart *)body);
    else if (!p->started)
        return;
    else if (h->rpc == RPC_PMIXD_LEFT && !reply)
        pmixd_calls_left();
    else if (h->rpc == RPC_PMIXD_SPAWN && reply)
        pmixd_answer_spawned(p, (const Pb__Spawned *)body);
    else if (h->rpc == RPC_PMIXD_EVENT && !reply)
        pmixd_more_event(((const Pb__PmixEvent *)body)->data.data,
                         ((const Pb__PmixEvent *)body)->data.len);
    else if (h->rpc == RPC_PMIXD_NAME && reply)
        pmixd_answer_name(p, h->id, (const Pb__NameReply *)body);
    else if (h->rpc == RPC_PMIXD_FENCE && !reply)
        pmixd_answer_fenced(p, (const Pb__PmixFence *)body);
    else if (h->rpc == RPC_PMIXD_GET && !reply)
        pmixd_answer_get(p, (const Pb__PmixGet *)body);
    else if (h->rpc == RPC_PMIXD_GOT && !reply)
        pmixd_answer_got(p, (const Pb__PmixGot *)body);
}

/* The shepherd has gone, and all tasks with it. */
static void on_pmixd_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    _exit(0);
}

/* Signals to the step are for its tasks; this process is ended by SIGKILL. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM, SIGTERM,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGXCPU, SIGURG};

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
}

static int report_version(void)
{
    const struct pmixd_lib *lib;
    struct err err = {0};

    if (get_library(&lib, &err)) {
        fprintf(stderr, "slurmstepd-pmix: error: %s\n", err.text);
        return 1;
    }
    puts(pmixd_lib_version(lib));
    return 0;
}

int main(int argc, char **argv)
{
    struct pmixd p = {0};
    struct rpc_link_events events = {on_pmixd_message, on_pmixd_close, &p};
    struct stat st;

    if (argc > 1 && !strcmp(argv[1], "--libpmix"))
        return report_version();
    if (argc > 1 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
        puts("slurm " SLURM_VERSION);
        return 0;
    }
    if (fd_begin(SHEPHERD_FD + 1) || fstat(SHEPHERD_FD, &st) || !S_ISSOCK(st.st_mode)) {
        fputs(
            "slurmstepd-pmix: error: this program is started by slurmstepd, for srun --mpi=pmix\n",
            stderr);
        return 1;
    }
    ignore_signals();
    fd_raise_limit(DESCRIPTORS_MAX);
    p.loop = loop_new(0);
    p.link = rpc_link_new(p.loop, SHEPHERD_FD, &events);
    loop_run(p.loop);
    return 0;
}

/* Looks up the caller's socket; a socket that is already closed has no owner. */
static bool is_of_our_user(int fd)
{
    struct sockaddr_storage theirs = {0}, ours = {0};
    socklen_t theirs_len = sizeof(theirs), ours_len = sizeof(ours), cred_len;
    struct owner_end local, remote;
    struct ucred cred;

    if (getpeername(fd, (struct sockaddr *)&theirs, &theirs_len) ||
        getsockname(fd, (struct sockaddr *)&ours, &ours_len))
        return false;
    if (ours.ss_family == AF_UNIX) {
        cred_len = sizeof(cred);
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) == 0 &&
               cred.uid == geteuid();
    }
    if (owner_end_of(&theirs, &local) || owner_end_of(&ours, &remote))
        return false;
    return owner_has(&local, &remote, geteuid());
}

/*
 * libpmix listens on TCP and trusts the user id that a caller states, so any local user could act
 * as the step's user and spawn programs. libpmix calls this function instead of the C library's
 * accept(). It closes connections whose socket belongs to another user, according to the kernel,
 * before any byte is read. Root counts as another user, because users can make root's daemons
 * connect to ports. Returns -1 and EAGAIN if only other users have connected.
 */
__attribute__((visibility("default"))) int accept(int fd, __SOCKADDR_ARG addr,
                                                  socklen_t *restrict len)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    socklen_t room = len ? *len : 0;

    do {
        int caller;

        if (len)
            *len = room;
        caller = accept4(fd, addr, len, 0);
        if (caller < 0 || is_of_our_user(caller))
            return caller;
        close(caller);
    } while (poll(&p, 1, 0) > 0);
    errno = EAGAIN;
    return -1;
}
