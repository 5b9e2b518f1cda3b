/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --mail-type and --mail-user: MailProg is run as "PROGRAM -s SUBJECT USER" on events of a job,
 * with the environment of a prolog and more. Nothing waits for it; a crash may lose a mail.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/words.h"
#include "cluster/job/job_set.h"
#include "control/internal.h"
#include "control/life/hook.h"
#include "control/life/mail.h"

#define LIMIT_SEC 300 /* for a hanging mail program */

static const struct {
    unsigned mail, percent;
    const char *type, *word;
} events[] = {
    {JOB_MAIL_BEGIN, 0, "BEGIN", "Began"},
    {JOB_MAIL_END, 0, "END", "Ended"},
    {JOB_MAIL_FAIL, 0, "FAIL", "Failed"},
    {JOB_MAIL_REQUEUE, 0, "REQUEUE", "Requeued"},
    {JOB_MAIL_LIMIT, 100, "TIME_LIMIT", "Reached time limit"},
    {JOB_MAIL_LIMIT_90, 90, "TIME_LIMIT_90", "Reached 90% of time limit"},
    {JOB_MAIL_LIMIT_80, 80, "TIME_LIMIT_80", "Reached 80% of time limit"},
    {JOB_MAIL_LIMIT_50, 50, "TIME_LIMIT_50", "Reached 50% of time limit"},
    {JOB_MAIL_STAGE_OUT, 0, "STAGE_OUT", "Staged out"},
    {JOB_MAIL_INVALID_DEPEND, 0, "INVALID_DEPEND", "Invalid dependency"},
};
#define EVENTS (sizeof events / sizeof events[0])

static const char *const states[] = {
    [PB__JOB_STATE__PENDING] = "PENDING",     [PB__JOB_STATE__RUNNING] = "RUNNING",
    [PB__JOB_STATE__SUSPENDED] = "SUSPENDED", [PB__JOB_STATE__COMPLETED] = "COMPLETED",
    [PB__JOB_STATE__CANCELLED] = "CANCELLED", [PB__JOB_STATE__FAILED] = "FAILED",
    [PB__JOB_STATE__TIMEOUT] = "TIMEOUT",     [PB__JOB_STATE__NODE_FAIL] = "NODE_FAIL",
    [PB__JOB_STATE__PREEMPTED] = "PREEMPTED", [PB__JOB_STATE__BOOT_FAIL] = "BOOT_FAIL",
    [PB__JOB_STATE__DEADLINE] = "DEADLINE",   [PB__JOB_STATE__OUT_OF_MEMORY] = "OUT_OF_MEMORY",
};

/* Mail programs interpret some words as options, files to append to, or commands to run; they run
 * as SlurmUser. */
static bool is_address(const char *text, size_t len)
{
    unsigned char first = len ? (unsigned char)text[0] : 'a';
    return (isalnum(first) || first == '_' || first >= 0x80) && !memchr(text, '/', len) &&
           !memchr(text, '|', len);
}

int mail_check(const Pb__JobSpec *spec, bool has_valid_type, struct err *err)
{
    const char *user = spec->mail_user;
    if (!has_valid_type)
        return err_set(err, -ERR_PARSE, "--mail-type=%s: an unknown type of event",
                       spec->mail_type);
    for (const char *s = user; s && *s; s++)
        if ((unsigned char)*s <= ' ' || *s == 0x7f)
            return err_set(err, -ERR_PARSE, "--mail-user: an address has no blanks");
    for (const char *s = user; s && *s; s += strcspn(s, ",")) {
        s += *s == ',';
        if (!is_address(s, strcspn(s, ",")))
            return err_set(err, -ERR_PARSE,
                           "--mail-user=%s: an address begins with a letter or digit, and has no / "
                           "and no |",
                           user);
    }
    return 0;
}

static char *format_time(struct arena *arena, int64_t sec)
{
    sec = sec > 0 ? sec : 0;
    long long days = sec / 86400;
    int h = (int)(sec / 3600 % 24), m = (int)(sec / 60 % 60), s = (int)(sec % 60);
    return days ? arena_printf(arena, "%lld-%02d:%02d:%02d", days, h, m, s)
                : arena_printf(arena, "%02d:%02d:%02d", h, m, s);
}

static char *run_time(const struct control *c, const struct job *j, struct arena *arena)
{
    int64_t until = job_is_final(j) ? attempt_of(j)->end_mono_ms : control_mono(c);
    return format_time(
        arena, attempt_of(j)->start_mono_ms ? (until - attempt_of(j)->start_mono_ms) / 1000 : 0);
}

/* Returns the users of a list, with the domain appended to those that are not addresses. */
static char *find_receiver(const struct control *c, const Pb__JobSpec *spec, struct arena *arena)
{
    const char *domain = c->conf->mail_domain, *comma = "";
    char *users = spec->mail_user && *spec->mail_user ? spec->mail_user : spec->user_name;
    _cleanup_str_ struct str list = STR_INIT;
    if (!users || !domain || !*domain)
        return users;
    words_foreach (users, w) {
        bool named = w.len && !memchr(w.at, '@', w.len);
        str_printf(&list, "%s%.*s%s%s", comma, (int)w.len, w.at, named ? "@" : "",
                   named ? domain : "");
        comma = ",";
    }
    return arena_strdup(arena, str_cstr(&list));
}

/* Writes "COMPLETED", or "Mixed" for an array whose elements ended differently, and the exit
 * codes. */
static char *format_outcome(const struct job *j, bool whole, struct arena *arena)
{
    int code = WIFEXITED(attempt_of(j)->exit_status) ? WEXITSTATUS(attempt_of(j)->exit_status) : 0;
    if (!whole)
        return arena_printf(arena, ", %s, ExitCode %d", states[j->state], code);
    int least = 255, most = 0;
    bool same = true;
    for (const struct job *k = array_first(j->array); k; k = array_after(k)) {
        code = WIFEXITED(attempt_of(k)->exit_status) ? WEXITSTATUS(attempt_of(k)->exit_status) : 0;
        least = code < least ? code : least;
        most = code > most ? code : most;
        same = same && k->state == j->state;
    }
    if (j->array->gone_well) /* the highest code of purged elements is known */
        least = 0;
    if (WIFEXITED(j->array->gone_exit) && WEXITSTATUS(j->array->gone_exit) > most)
        most = WEXITSTATUS(j->array->gone_exit);
    same = same &&
           !(j->state == PB__JOB_STATE__COMPLETED ? j->array->gone_badly : j->array->gone_well);
    return arena_printf(arena, ", %s, ExitCode [%d-%d]", same ? states[j->state] : "Mixed", least,
                        most);
}

static char *subject_of(const struct job *j, bool whole, struct arena *arena)
{
    if (whole)
        return arena_printf(arena, "Slurm Array Summary Job_id=%u_* (%u)", j->array->id, j->id);
    if (j->array && !j->tasks.count)
        return arena_printf(arena, "Slurm Array Task Job_id=%u_%u (%u)", j->array->id, j->task,
                            j->id);
    return arena_printf(arena, "Slurm Job_id=%u", j->id);
}

static void send_mail(struct control *c, struct job *j, size_t event, bool whole)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    char *user = spec ? find_receiver(c, spec, &arena) : NULL;
    bool ends = events[event].mail & (JOB_MAIL_END | JOB_MAIL_FAIL);
    bool begins = events[event].mail == JOB_MAIL_BEGIN;
    char *took = begins ? format_time(&arena, attempt_of(j)->start_at - j->submit_at)
                        : run_time(c, j, &arena);
    int code = WIFEXITED(attempt_of(j)->exit_status) ? WEXITSTATUS(attempt_of(j)->exit_status) : 0;
    int signal = WIFSIGNALED(attempt_of(j)->exit_status) ? WTERMSIG(attempt_of(j)->exit_status) : 0;
    char *end = !ends ? (char *)"" : format_outcome(j, whole, &arena);
    char *subject = arena_printf(&arena, "%s Name=%s %s, %s time %s%s",
                                 subject_of(j, whole, &arena), spec && spec->name ? spec->name : "",
                                 events[event].word, begins ? "Queued" : "Run", took, end);
    char *argv[] = {(char *)"-s", subject, user};
    for (char *s = subject; *s; s++)
        if (iscntrl((unsigned char)*s)) /* a line break would start a header */
            *s = '?';
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    if (!user || !*user)
        return;
    m.kind = PB__SCRIPT_KIND__SCRIPT_MAIL;
    m.job_id = j->id;
    m.restarts = j->restarts;
    m.path = (char *)c->conf->mail_prog;
    m.argv = argv;
    m.n_argv = 3;
    m.has_limit_sec = true;
    m.limit_sec = LIMIT_SEC;
    m.n_env = hook_env_make(c, j, m.kind, 8, &m.env, &arena);
    m.env[m.n_env++] = arena_printf(&arena, "SLURM_JOB_STATE=%s", states[j->state]);
    m.env[m.n_env++] = arena_printf(&arena, "SLURM_JOB_MAIL_TYPE=%s", events[event].type);
    m.env[m.n_env++] =
        arena_printf(&arena, begins ? "SLURM_JOB_QEUEUED_TIME=%s" : "SLURM_JOB_RUN_TIME=%s", took);
    if (ends) {
        m.env[m.n_env++] = arena_printf(&arena, "SLURM_JOB_EXIT_CODE_MAX=%d", code);
        m.env[m.n_env++] = arena_printf(&arena, "SLURM_JOB_EXIT_CODE_MIN=%d", code);
        m.env[m.n_env++] = arena_printf(&arena, "SLURM_JOB_TERM_SIGNAL_MAX=%d", signal);
    }
    c->env->run(c->env->ctx, &m);
}

/* For a job set only the leader sends mail, whatever the other components request. */
static bool wants_mail(const struct job *j, unsigned mail)
{
    return j->mail & mail && job_set_is_leader(j);
}

/* Mail about an array as a whole: at its first start, and at the end of all elements. False: not
 * now. */
static bool is_whole_due(struct control *c, struct job *j, unsigned mail)
{
    if (mail != JOB_MAIL_BEGIN)
        return array_is_over(j->array);
    if (j->array->begun)
        return false;
    array_set_begun(c->cluster, j->array);
    return true;
}

void mail_event(struct control *c, struct job *j, unsigned mail)
{
    bool whole = j->array && !(j->mail & JOB_MAIL_TASKS) &&
                 mail & (JOB_MAIL_BEGIN | JOB_MAIL_END | JOB_MAIL_FAIL);
    if (!wants_mail(j, mail) || !c->env->run || !c->conf->mail_prog || !*c->conf->mail_prog)
        return;
    if (whole && !is_whole_due(c, j, mail))
        return;
    for (size_t i = 0; i < EVENTS; i++)
        if (events[i].mail & mail & j->mail)
            send_mail(c, j, i, whole);
}

static bool has_failed(const struct array *a)
{
    if (WIFEXITED(a->gone_exit) && WEXITSTATUS(a->gone_exit))
        return true;
    for (const struct job *j = array_first(a); j; j = array_after(j))
        if (job_is_final(j) && j->state != PB__JOB_STATE__COMPLETED &&
            j->state != PB__JOB_STATE__CANCELLED && j->state != PB__JOB_STATE__PREEMPTED)
            return true;
    return false;
}

/* Sends one mail: about a failure if requested, otherwise about the end. */
void mail_job_over(struct control *c, const struct transition *t)
{
    struct job *j = t->job;
    bool failed = j->state != PB__JOB_STATE__COMPLETED && j->state != PB__JOB_STATE__CANCELLED &&
                  j->state != PB__JOB_STATE__PREEMPTED;
    if (j->array && !(j->mail & JOB_MAIL_TASKS))
        failed = array_is_over(j->array) && has_failed(j->array);
    if (j->state == PB__JOB_STATE__TIMEOUT)
        mail_event(c, j, JOB_MAIL_LIMIT);
    if (attempt_of(j)->requeue_after)
        mail_event(c, j, JOB_MAIL_REQUEUE);
    else
        mail_event(c, j, failed && j->mail & JOB_MAIL_FAIL ? JOB_MAIL_FAIL : JOB_MAIL_END);
}

static int64_t reached_at(const struct job *j, size_t event)
{
    return attempt_of(j)->start_mono_ms + j->limit_sec * 10 * events[event].percent;
}

static bool is_share(const struct job *j, size_t event)
{
    return j->mail & events[event].mail && events[event].percent > 0 && events[event].percent < 100;
}

/* Computes when the next share of its limit is reached; shares that have passed are skipped. */
void mail_schedule(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    attempt->mail_mono_ms = 0;
    if (!wants_mail(j, JOB_MAIL_SHARES) || j->limit_sec > CLUSTER_NO_LIMIT_SEC)
        return;
    for (size_t i = 0; i < EVENTS; i++) {
        int64_t at = reached_at(j, i);
        if (is_share(j, i) && at > control_mono(c) &&
            (!attempt->mail_mono_ms || at < attempt->mail_mono_ms))
            attempt->mail_mono_ms = at;
    }
}

void mail_due(struct control *c, struct job *j)
{
    for (size_t i = 0; i < EVENTS; i++)
        if (is_share(j, i) && reached_at(j, i) == attempt_of(j)->mail_mono_ms)
            send_mail(c, j, i, false);
    mail_schedule(c, j);
}
