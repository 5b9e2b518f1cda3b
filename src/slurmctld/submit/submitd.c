/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/submit/submitd.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "proto/submit.pb-c.h"
#include "slurmctld/script/scriptwire.h"
#include "slurmctld/submit/submit_env.h"
#include "slurmctld/submit/submit_plugin.h"

struct link {
    char *name;                   /* "job_submit/NAME" */
    struct submit_plugin *plugin; /* NULL: the script */
    struct lua_site lua;
};

static struct {
    VEC(struct link) chain;
    struct str in;
    bool broken; /* a plugin of the chain is unusable, which was reported */
} d;

/* --- the line
 * ------------------------------------------------------------------------------------- */

static void send_message(const Pb__SubmitMessage *m)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct pollfd p = {.fd = SUBMITD_LINE_FD, .events = POLLOUT};
    scriptwire_put_any(&out, &m->base);
    while (scriptwire_write(SUBMITD_LINE_FD, &out) == 0 && out.len)
        poll(&p, 1, -1);
}

static void on_log(enum log_level level, const char *room, const char *text)
{
    Pb__SubmitMessage m = PB__SUBMIT_MESSAGE__INIT;
    Pb__SubmitNote note = PB__SUBMIT_NOTE__INIT;
    note.level = level;
    note.room = (char *)(room ? room : "");
    note.text = (char *)text;
    m.note = &note;
    send_message(&m);
}

static void enter_plugin(const char *name)
{
    Pb__SubmitMessage m = PB__SUBMIT_MESSAGE__INIT;
    m.entering = (char *)name;
    send_message(&m);
}

static void send_answer(uint64_t number, const struct err *err, const char *message,
                        Pb__JobSpec *spec)
{
    Pb__SubmitMessage m = PB__SUBMIT_MESSAGE__INIT;
    Pb__SubmitAnswer a = PB__SUBMIT_ANSWER__INIT;
    a.number = number;
    a.code = err->code;
    a.text = err->code ? (char *)err->text : NULL;
    a.message = (char *)message;
    a.spec = spec;
    m.answer = &a;
    send_message(&m);
}

/* --- questions -------------------------------------------------------------------------------- */

static int load_plugins(const Pb__SubmitSetup *s, struct err *err)
{
    for (size_t i = 0; i < s->n_plugin; i++) {
        struct link l = {.name = mem_strdup(s->plugin[i])};
        bool script = str_eq(l.name, "job_submit/lua");
        enter_plugin(l.name);
        if (script)
            submit_lua_init(&l.lua, s->path[i], s->owner);
        else
            l.plugin = submit_plugin_open(s->path[i], s->owner, err);
        if (!script && !l.plugin) {
            free(l.name);
            return err_prefix(err, "%s", s->place[i]);
        }
        vec_push(&d.chain, l);
    }
    return 0;
}

static void set_up(const Pb__SubmitSetup *s)
{
    struct err err = {0};
    d.broken = s->n_path != s->n_plugin || s->n_place != s->n_plugin || load_plugins(s, &err) != 0;
    send_answer(0, &err, NULL, NULL);
}

static void unpack_part(const Pb__SubmitPart *p, struct env_part *out)
{
    *out = (struct env_part){
        .name = p->name,
        .nodes = p->nodes,
        .is_default = p->is_default,
        .is_up = p->is_up,
        .priority_tier = p->priority_tier,
        .priority_job_factor = p->priority_job_factor,
        .min_nodes = p->min_nodes,
        .max_nodes = p->max_nodes,
        .max_time_sec = p->max_time_sec,
        .default_time_sec = p->default_time_sec,
    };
}

static void ask_plugins(const Pb__SubmitQuestion *q, struct arena *arena)
{
    _cleanup_str_ struct str message = STR_INIT;
    struct err err = {0};
    struct env_part *parts = arena_alloc(arena, (q->n_part + 1) * sizeof *parts);
    for (size_t i = 0; i < q->n_part; i++)
        unpack_part(q->part[i], &parts[i]);
    struct env_submit s = {.spec = q->spec,
                           .before = q->before,
                           .payload = q->payload,
                           .parts = parts,
                           .n_parts = q->n_part,
                           .uid = q->uid,
                           .job_id = q->job_id,
                           .arena = arena,
                           .message = &message};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < d.chain.len; i++) {
        struct link *l = &d.chain.data[i];
        enter_plugin(l->name);
        rc = l->plugin ? submit_plugin_ask(l->plugin, &s, &err) : submit_lua_ask(&l->lua, &s, &err);
    }
    send_answer(q->number, &err, message.len ? str_cstr(&message) : NULL, rc == 0 ? q->spec : NULL);
}

/* Whether a complete message was available and handled. */
static bool take_message(int *more)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    ProtobufCMessage *any = NULL;
    *more = scriptwire_take_any(&d.in, &arena, &pb__submit_message__descriptor, SUBMITD_MESSAGE_MAX,
                                &any);
    const Pb__SubmitMessage *m = (const Pb__SubmitMessage *)any;
    if (*more > 0 && m->setup)
        set_up(m->setup);
    else if (*more > 0 && m->question && !d.broken)
        ask_plugins(m->question, &arena);
    return *more >= 0;
}

static void serve_messages(void)
{
    struct pollfd p = {.fd = SUBMITD_LINE_FD, .events = POLLIN};
    int rc = 0, more = 0;
    while (rc >= 0) {
        poll(&p, 1, -1);
        rc = scriptwire_read(SUBMITD_LINE_FD, &d.in);
        do {
            if (!take_message(&more))
                return;
        } while (more > 0);
        while (waitpid(-1, NULL, WNOHANG) > 0) /* processes that plugins have left */
            ;
    }
}

static void end_plugins(void)
{
    alarm(SUBMITD_END_SEC);
    while (d.chain.len) {
        struct link *l = &d.chain.data[--d.chain.len];
        submit_plugin_close(l->plugin);
        submit_lua_done(&l->lua);
        free(l->name);
    }
    vec_done(&d.chain);
    str_done(&d.in);
}

/* --- the process
 * ----------------------------------------------------------------------------------- */

/* Makes this process the first choice of the out-of-memory killer. */
static void offer_itself(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1000", 4) < 0)
        log_write(LOG_LVL_DEBUG, SUBMITD_NAME, "oom_score_adj: %m");
    if (fd >= 0)
        close(fd);
}

bool submitd_is_wanted(const char *argv0)
{
    return argv0 && str_eq(argv0, SUBMITD_NAME);
}

/* A handler instead of SIG_IGN, which programs started by plugins would inherit. */
static void on_nothing(int signo)
{
    (void)signo;
}

int submitd_main(void)
{
    int type = 0;
    socklen_t len = sizeof type;
    if (getsockopt(SUBMITD_LINE_FD, SOL_SOCKET, SO_TYPE, &type, &len)) {
        fputs(SUBMITD_NAME " is a part of slurmctld, which starts it\n", stderr);
        return 1;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* processes that its plugins start stay below it */
    signal(SIGPIPE, on_nothing);
    signal(SIGHUP, on_nothing); /* also signals that a terminal sends to the process group: */
    signal(SIGINT, on_nothing);
    signal(SIGTERM, on_nothing); /* the controller decides */
    prctl(PR_SET_NAME, SUBMITD_NAME, 0, 0, 0);
    fcntl(SUBMITD_LINE_FD, F_SETFD, FD_CLOEXEC);
    if (chdir("/"))
        return 1;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        dup2(null_fd, fd);
    close(null_fd);
    log_open(&(struct log_options){
        .program = SUBMITD_NAME, .sink = on_log, .sink_level = LOG_LVL_DEBUG2});
    offer_itself();
    serve_messages();
    end_plugins();
    return 0;
}
