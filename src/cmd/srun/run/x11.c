/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/x11.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/option/xauth.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "rpc/tunnel.h"

#define AUTHORITY_MOST (1u << 20)

struct node { /* a node of the step */
    struct x11 *x11;
    struct tunnel *tunnel; /* NULL until the node sends something */
};

struct x11 {
    struct run *run;
    struct xauth_display display;
    struct xauth_cookie real;
    uint8_t shown[16]; /* the cookie that the nodes get */
    Pb__X11 request;
    struct node *nodes; /* by index */
    bool warned;
};

/* Reads the cookie of the display. A display without a cookie uses another way to grant access. */
static void read_cookie(struct x11 *x)
{
    const char *given = getenv("XAUTHORITY"), *home = getenv("HOME");
    _cleanup_free_ char *path = given != NULL && *given != '\0'
                                    ? mem_strdup(given)
                                    : mem_printf("%s/.Xauthority", home != NULL ? home : "");
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = {0};
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    if (path_read_file(path, AUTHORITY_MOST, &text, &err) < 0)
        say_info("warning: X11: %s: display %u may refuse windows", err.text, x->display.number);
    else if (!xauth_find(text.data, text.len, &x->display, host, &x->real))
        say_info("warning: X11: %s has no cookie for display %u: it may refuse windows", path,
                 x->display.number);
}

static int read_where(const char *where, Pb__X11 *out, struct err *err)
{
    static const char *const names[] = {"all", "first", "last"};

    out->has_nodes = true;
    for (unsigned i = 0; i < 3; i++)
        if (str_case_eq(where, names[i])) {
            out->nodes = (Pb__X11Nodes)i;
            return 0;
        }
    return err_set(err, -ERR_PARSE, "Invalid --x11 specification %s: all, first or last", where);
}

int x11_open(struct run *run, const char *where, struct x11 **out, struct err *err)
{
    const char *display = getenv("DISPLAY");
    struct x11 *x = mem_new(struct x11);
    int rc;

    pb__x11__init(&x->request);
    rc = read_where(where, &x->request, err);
    if (rc == 0 && (display == NULL || *display == '\0'))
        rc = err_set(err, -ERR_NOT_SUPPORTED,
                     "No DISPLAY variable set, cannot setup x11 forwarding.");
    if (rc == 0)
        rc = xauth_parse_display(display, &x->display, err);
    if (rc < 0) {
        free(x);
        return rc;
    }
    x->run = run;
    read_cookie(x);
    auth_random(x->shown, sizeof(x->shown));
    x->request.cookie = (ProtobufCBinaryData){sizeof(x->shown), x->shown};
    x->request.has_screen = true;
    x->request.screen = x->display.screen;
    *out = x;
    return 0;
}

void x11_free(struct x11 *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; x->nodes != NULL && i < x->run->step->n_layout; i++)
        tunnel_free(x->nodes[i].tunnel);
    free(x->nodes);
    explicit_bzero(&x->real, sizeof(x->real));
    free(x);
}

Pb__X11 *x11_request(struct x11 *x)
{
    return x != NULL ? &x->request : NULL;
}

static void send_data(void *ctx, const Pb__TunnelData *m)
{
    struct node *n = ctx;

    peers_send(n->x11->run->peers, (uint32_t)(n - n->x11->nodes), RPC_TUNNEL_DATA, &m->base);
}

/* The peer receives the display's cookie. On this host only root and the user are trusted peers. */
static bool is_trusted(int fd, int family)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (family != AF_UNIX)
        return true;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

/* Returns -1 with errno on failure. */
static int connect_display(const struct sockaddr_storage *to, socklen_t len)
{
    int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), why = 0;

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)to, len) < 0 && errno != EINPROGRESS)
        why = errno;
    else if (!is_trusted(fd, to->ss_family))
        why = EPERM; /* the socket belongs to another user */
    if (why == 0)
        return fd;
    close(fd);
    errno = why;
    return -1;
}

static int open_display(void *ctx)
{
    struct x11 *x = ((struct node *)ctx)->x11;
    int fd = -1;

    for (unsigned i = 0; i < x->display.addr_count && fd < 0; i++)
        fd = connect_display(&x->display.addr[i], x->display.addr_len[i]);
    if (fd < 0 && !x->warned) {
        x->warned = true;
        say_error("X11: display %s cannot be reached: %s", getenv("DISPLAY"), strerror(errno));
    }
    return fd;
}

static enum tunnel_look check_cookie(void *ctx, struct str *head)
{
    struct node *n = ctx;
    struct x11 *x = n->x11;
    enum xauth_check check = xauth_replace(head, x->shown, sizeof(x->shown), &x->real);

    if (check != XAUTH_BAD)
        return check == XAUTH_GOOD ? TUNNEL_PASS : TUNNEL_MORE;
    if (!x->warned)
        say_error("X11: refused a program on node %s: it does not know the cookie of this step",
                  x->run->step->layout[n - x->nodes]->node);
    x->warned = true;
    return TUNNEL_REFUSE;
}

static struct tunnel *tunnel_of(struct x11 *x, uint32_t node)
{
    struct node *n;

    if (x->nodes == NULL)
        x->nodes = mem_new_array(struct node, x->run->step->n_layout);
    n = &x->nodes[node];
    if (n->tunnel == NULL) {
        struct tunnel_events events = {
            .send = send_data, .open = open_display, .look = check_cookie, .ctx = n};

        n->x11 = x;
        n->tunnel = tunnel_new(x->run->loop, &events);
    }
    return n->tunnel;
}

void x11_message(struct x11 *x, uint32_t node, const Pb__TunnelData *m)
{
    if (x != NULL)
        tunnel_message(tunnel_of(x, node), m);
}

void x11_node_gone(struct x11 *x, uint32_t node)
{
    if (x != NULL && x->nodes != NULL)
        tunnel_free(take_ptr(x->nodes[node].tunnel));
}
