/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmstepd"
#include "slurmstepd/stream/x11.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "rpc/tunnel.h"
#include "slurmstepd/step/step_phase.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/xauth.h"

#define DISPLAY_FIRST 10 /* as sshd's: lower numbers are real screens */
#define DISPLAY_LAST 1000
#define PORT_OF_DISPLAY_0 6000
#define COOKIE_SIZE 16
#define BACKLOG 64

struct x11 {
    struct step *step;
    unsigned display;
    int fd[2]; /* IPv4 and IPv6; -1: the host does not have it */
    struct loop_fd *watch[2];
    struct tunnel *tunnel;
    char *file; /* NULL: none was written */
    bool is_in_home;
    pid_t changer; /* process that changes the user's file, until the step continues; 0: none */
    struct loop_timer *timer;
    bool is_late; /* it was killed at its time limit */
};

static bool is_wanted(const struct step *step)
{
    const Pb__X11 *m = step->launch->x11;
    uint32_t last = (uint32_t)step->granted->n_nodes - 1;

    if (m == NULL)
        return false;
    return m->nodes == PB__X11_NODES__X11_FIRST  ? step->node_index == 0
           : m->nodes == PB__X11_NODES__X11_LAST ? step->node_index == last
                                                 : true;
}

/* Returns -1 with errno on failure. */
static int listen_at(int family, unsigned port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1, rc;

    if (fd < 0)
        return -1;
    in.sin_port = in6.sin6_port = htons((uint16_t)port);
    if (family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
        rc = bind(fd, (struct sockaddr *)&in6, sizeof(in6));
    } else {
        rc = bind(fd, (struct sockaddr *)&in, sizeof(in));
    }
    if (rc == 0)
        rc = listen(fd, BACKLOG);
    if (rc == 0)
        return fd;
    rc = errno;
    close(fd);
    errno = rc;
    return -1;
}

/* Binds both addresses of "localhost"; otherwise another user could bind the other one and receive
 * the cookie. False: the display is in use. */
static bool claim_display(struct x11 *x, unsigned display)
{
    unsigned port = PORT_OF_DISPLAY_0 + display;

    x->fd[0] = listen_at(AF_INET, port);
    if (x->fd[0] < 0)
        return false;
    x->fd[1] = listen_at(AF_INET6, port);
    if (x->fd[1] < 0 && errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) {
        close(take_fd(&x->fd[0]));
        return false;
    }
    x->display = display;
    return true;
}

static struct xauth_entry make_xauth_entry(const struct x11 *x)
{
    const ProtobufCBinaryData *cookie = &x->step->launch->x11->cookie;

    return (struct xauth_entry){x->display, cookie->data, cookie->len};
}

static void send_data(void *ctx, const Pb__TunnelData *m)
{
    srun_tunnel(ctx, m);
}

static bool has_tunnel_room(void *ctx)
{
    return srun_has_room(ctx);
}

static void listen_for(struct x11 *x, unsigned events)
{
    for (int i = 0; i < 2; i++)
        if (x->watch[i] != NULL)
            loop_fd_events(x->watch[i], events);
}

void x11_drained(struct step *step)
{
    if (step->x11 == NULL || step->x11->tunnel == NULL)
        return;
    listen_for(step->x11, LOOP_READ);
    tunnel_drained(step->x11->tunnel);
}

/* Any local user may connect: connections without space in srun's session wait in the kernel. */
static void on_connection(void *ctx, int fd, unsigned ready)
{
    struct x11 *x = ctx;
    int got;

    (void)ready;
    if (!srun_has_room(x->step)) {
        listen_for(x, 0);
        return;
    }
    got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (got >= 0)
        tunnel_take(x->tunnel, got);
}

static void serve_connection(struct x11 *x)
{
    struct step *step = x->step;
    const struct tunnel_events events = {
        .send = send_data, .has_room = has_tunnel_room, .ctx = step};

    x->tunnel = tunnel_new(step->loop, &events);
    for (int i = 0; i < 2; i++)
        if (x->fd[i] >= 0)
            x->watch[i] = loop_fd_new(step->loop, x->fd[i], LOOP_READ, on_connection, x);
    envlist_setf(&step->env, "DISPLAY", "localhost:%u.%u", x->display,
                 step->launch->x11->has_screen ? step->launch->x11->screen : 0);
    envlist_set(&step->env, "XAUTHORITY", x->file);
}

/* A killed child may have left the entry and its lock: x11_done() removes them. */
static void on_changed(void *ctx, pid_t pid, int wait_status)
{
    struct x11 *x = ctx;
    struct step *step = x->step;
    struct err err = {0};
    int rc = xauth_result(x->file, wait_status, &err);

    x->changer = 0;
    loop_timer_free(take_ptr(x->timer));
    if (rc < 0 && x->is_late)
        xauth_late(x->file, XAUTH_LIMIT_SEC, &err);
    if (WIFEXITED(wait_status) && rc < 0)
        free(take_ptr(x->file));
    if (!step_is_starting(step) || step->fail_code) {
        step->life->check(step);
        return;
    }
    if (rc < 0) {
        step->life->fail_start(step, -rc, err.text);
        return;
    }
    serve_connection(x);
    step->life->resume_start(step);
}

static void on_late(void *ctx)
{
    struct x11 *x = ctx;
    struct err err = {0};

    if (!x->is_late) {
        x->is_late = true;
        kill(x->changer, SIGKILL);
        loop_timer_set(x->timer, XAUTH_KILLED_MS);
        return;
    }
    xauth_late(x->file, XAUTH_LIMIT_SEC, &err);
    x->step->life->fail_start(x->step, -err.code, err.text);
}

/* For X11Parameters=home_xauthority. */
static int write_home_authority(struct x11 *x, struct err *err)
{
    const struct xauth_entry entry = make_xauth_entry(x);
    const char *home = x->step->start->home;

    if (home == NULL || *home != '/')
        return err_set(err, -ERR_NODE_FAULT,
                       "X11Parameters=home_xauthority: the user has no home directory on %s",
                       x->step->node);
    x->file = mem_printf("%s/.Xauthority", home);
    x->is_in_home = true;
    pid_t pid = xauth_begin(x->step, x->file, &entry, XAUTH_LIMIT_SEC, err);
    if (pid < 0) {
        free(take_ptr(x->file));
        return pid;
    }
    x->changer = pid;
    x->timer = loop_timer_new(x->step->loop, on_late, x);
    loop_timer_set(x->timer, XAUTH_LIMIT_SEC * 1000);
    loop_child(x->step->loop, pid, on_changed, x);
    return X11_PENDING;
}

static void remove_authority(struct x11 *x)
{
    const struct xauth_entry none = {.display = x->display};
    struct err err;

    if (!x->is_in_home)
        unlink(x->file);
    else if (xauth_change(x->step, x->file, &none, XAUTH_LIMIT_SEC, &err) < 0)
        log_error("%s", err.text);
}

/* The file belongs to the user, in a directory that only we can write to. */
static int write_authority(struct x11 *x, struct err *err)
{
    struct step *step = x->step;
    const struct xauth_entry entry = make_xauth_entry(x);
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_close_ int fd = -1;
    int rc;

    xauth_put(XAUTH_FAMILY_WILD, "", &entry, &text); /* valid for every host name of the display */
    x->file = mem_printf("%s/x11.%u.%u", step->dir, step->job_id, step->step_id);
    unlink(x->file); /* left by a killed shepherd */
    fd = open(x->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    rc = fd < 0 ? -errno : path_write_all(fd, text.data, text.len);
    if (rc == 0 && geteuid() == 0 && fchown(fd, step->uid, step->gid) < 0)
        rc = -errno;
    return rc < 0 ? err_set(err, -ERR_NODE_FAULT, "cannot write %s: %s", x->file, strerror(-rc))
                  : 0;
}

int x11_start(struct step *step, struct err *err)
{
    struct x11 *x;
    int rc = 0;

    if (step->launch == NULL || !is_wanted(step))
        return 0;
    if (step->launch->x11->cookie.len != COOKIE_SIZE)
        return err_set(err, -ERR_PROTOCOL, "X11 forwarding: a cookie of %zu bytes",
                       step->launch->x11->cookie.len);
    step->x11 = x = mem_new(struct x11);
    x->step = step;
    x->fd[0] = x->fd[1] = -1;
    for (unsigned d = DISPLAY_FIRST; d <= DISPLAY_LAST; d++)
        if (claim_display(x, d))
            break;
    if (x->display == 0)
        rc = err_set(err, -ERR_LAUNCH, "X11 forwarding: no display from %u to %u is free on %s",
                     DISPLAY_FIRST, DISPLAY_LAST, step->node);
    if (rc == 0)
        rc = step->x11_in_home ? write_home_authority(x, err) : write_authority(x, err);
    if (rc == 0)
        serve_connection(x);
    return rc;
}

void x11_message(struct step *step, const Pb__TunnelData *m)
{
    if (step->x11 != NULL && step->x11->tunnel != NULL)
        tunnel_message(step->x11->tunnel, m);
}

/* The display number stays reserved until its entry is removed: another step of the user would use
   the same entry. */
static void free_display(struct x11 *x)
{
    if (x->file != NULL)
        remove_authority(x);
    for (int i = 0; i < 2; i++)
        if (x->fd[i] >= 0)
            close(x->fd[i]);
    free(x->file);
    free(x);
}

void x11_end(struct step *step)
{
    struct x11 *x = step->x11;

    if (x == NULL)
        return;
    tunnel_free(take_ptr(x->tunnel));
    for (int i = 0; i < 2; i++)
        if (x->watch[i] != NULL)
            loop_fd_free(take_ptr(x->watch[i]));
    if (!x->is_in_home)
        free_display(take_ptr(step->x11));
}

void x11_done(struct step *step)
{
    struct x11 *x = step->x11;
    int status;

    if (x == NULL)
        return;
    if (x->changer) { /* the step ended before it had started */
        kill(x->changer, SIGKILL);
        child_await(x->changer, XAUTH_KILLED_MS, &status);
        loop_timer_free(take_ptr(x->timer));
    }
    free_display(take_ptr(step->x11));
}
