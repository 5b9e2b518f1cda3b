/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/tasks.h"

#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/status.h"
#include "base/vec.h"

#define EXIT_CODE_MAX 255

struct end {
    uint32_t task;
    uint32_t node;
    int status;
    bool is_reported;
};

struct tasks {
    uint32_t count, ended, nodes;
    uint32_t *node_of;
    char **node_names;
    uint8_t *state; /* enum tasks_state */
    int worst_status;
    bool reports_once; /* do not repeat the last message */
    bool has_reported;
    int reported_status;
    VEC(struct end) unreported;
};

struct tasks *tasks_new(uint32_t count, const uint32_t *node_of, const char *const *node_names,
                        uint32_t nodes)
{
    struct tasks *t = mem_new(struct tasks);

    t->count = count;
    t->nodes = nodes;
    t->node_of = mem_new_array(uint32_t, count);
    if (count > 0)
        memcpy(t->node_of, node_of, count * sizeof(*node_of));
    t->node_names = mem_new_array(char *, nodes);
    for (uint32_t i = 0; i < nodes; i++)
        t->node_names[i] = mem_strdup(node_names[i]);
    t->state = mem_new_array(uint8_t, count);
    return t;
}

struct tasks *tasks_of_layout(Pb__StepNode *const *layout, size_t nodes, uint32_t count)
{
    _cleanup_free_ uint32_t *node_of = mem_new_array(uint32_t, count);
    _cleanup_free_ const char **names = mem_new_array(const char *, nodes);

    for (uint32_t i = 0; i < nodes; i++) {
        names[i] = layout[i]->node;
        for (size_t k = 0; k < layout[i]->n_task_ids; k++)
            if (layout[i]->task_ids[k] < count)
                node_of[layout[i]->task_ids[k]] = i;
    }
    return tasks_new(count, node_of, names, (uint32_t)nodes);
}

void tasks_free(struct tasks *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; i < t->nodes; i++)
        free(t->node_names[i]);
    free(t->node_names);
    free(t->node_of);
    free(t->state);
    vec_done(&t->unreported);
    free(t);
}

static bool has_ended(uint8_t state)
{
    return state > TASKS_RUNNING;
}

bool tasks_started(struct tasks *t, uint32_t task)
{
    if (task >= t->count || t->state[task] != TASKS_STARTING)
        return false;
    t->state[task] = TASKS_RUNNING;
    return true;
}

static bool end_task(struct tasks *t, uint32_t task, int wait_status, enum tasks_state state)
{
    if (task >= t->count || has_ended(t->state[task]))
        return false;
    t->state[task] = (uint8_t)state;
    t->ended++;
    if (status_weight(wait_status) > status_weight(t->worst_status))
        t->worst_status = wait_status;
    if (state != TASKS_LOST)
        vec_push(&t->unreported, ((struct end){task, t->node_of[task], wait_status, false}));
    return true;
}

/* Error numbers of base/err.def are not exit codes: their low eight bits are arbitrary and may be
 * 0. */
bool tasks_failed(struct tasks *t, uint32_t task, int code)
{
    int exit_code = code > 0 && code <= EXIT_CODE_MAX ? code : 1;

    return end_task(t, task, exit_code << 8, TASKS_FAILED);
}

bool tasks_exited(struct tasks *t, uint32_t task, int wait_status)
{
    return end_task(t, task, wait_status, wait_status == 0 ? TASKS_EXITED : TASKS_ABNORMAL);
}

bool tasks_lost(struct tasks *t, uint32_t task, int wait_status)
{
    return end_task(t, task, wait_status, TASKS_LOST);
}

uint32_t tasks_count(const struct tasks *t)
{
    return t->count;
}

uint32_t tasks_ended(const struct tasks *t)
{
    return t->ended;
}

bool tasks_all_ended(const struct tasks *t)
{
    return t->ended == t->count;
}

bool tasks_is_over(const struct tasks *t, uint32_t task)
{
    return task < t->count && has_ended(t->state[task]);
}

int tasks_worst_status(const struct tasks *t)
{
    return t->worst_status;
}

int tasks_exit_code(const struct tasks *t)
{
    int status = t->worst_status;

    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void tasks_describe(int status, struct str *out)
{
    if (status_is_out_of_memory(status)) {
        str_puts(out, "Out Of Memory");
    } else if (WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));

        if (name != NULL)
            str_puts(out, name);
        else
            str_printf(out, "Signal %d", WTERMSIG(status));
        if (WCOREDUMP(status))
            str_puts(out, " (core dumped)");
    } else if (WEXITSTATUS(status) == 0) {
        str_puts(out, "Completed");
    } else {
        str_printf(out, "Exited with exit code %d", WEXITSTATUS(status));
    }
}

/* Ascending numbers, formatted as "task 3" or "tasks 0-2,5". */
struct ranges {
    struct str text;
    uint32_t first, last, count;
};

static void ranges_close(struct ranges *r)
{
    if (r->count == 0)
        return;
    if (r->text.len > 0)
        str_putc(&r->text, ',');
    str_printf(&r->text, r->first == r->last ? "%u" : "%u-%u", r->first, r->last);
}

static void ranges_add(struct ranges *r, uint32_t n)
{
    if (r->count > 0 && n == r->last + 1) {
        r->last = n;
    } else {
        ranges_close(r);
        r->first = r->last = n;
    }
    r->count++;
}

static int by_task(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    return (x->task > y->task) - (x->task < y->task);
}

void tasks_tell_once(struct tasks *t)
{
    t->reports_once = true;
}

/* Reports the ends with the same status on one node, unless the last message had the same status.
 */
static void tell_task_ends(struct tasks *t, const struct end *head, const char *numbers,
                           uint32_t count, tasks_say_fn *say, void *ctx)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (t->reports_once && t->has_reported && t->reported_status == head->status)
        return;
    str_printf(&text, "%s: task%s %s: ", t->node_names[head->node], count > 1 ? "s" : "", numbers);
    tasks_describe(head->status, &text);
    say(ctx, head->status != 0, text.data);
    t->has_reported = true;
    t->reported_status = head->status;
}

void tasks_tell_ends(struct tasks *t, tasks_say_fn *say, void *ctx)
{
    if (t->unreported.len > 1)
        qsort(t->unreported.data, t->unreported.len, sizeof(t->unreported.data[0]), by_task);
    for (size_t i = 0; i < t->unreported.len; i++) {
        const struct end *head = &t->unreported.data[i];
        struct ranges tasks = {0};

        if (head->is_reported)
            continue;
        for (size_t k = i; k < t->unreported.len; k++) {
            struct end *e = &t->unreported.data[k];

            if (!e->is_reported && e->node == head->node && e->status == head->status) {
                ranges_add(&tasks, e->task);
                e->is_reported = true;
            }
        }
        ranges_close(&tasks);
        tell_task_ends(t, head, str_cstr(&tasks.text), tasks.count, say, ctx);
        str_done(&tasks.text);
    }
    vec_clear(&t->unreported);
}

void tasks_tell_states(const struct tasks *t, const char *step, tasks_say_fn *say, void *ctx)
{
    static const char *const words[TASKS_STATES] = {
        [TASKS_STARTING] = "unknown",           [TASKS_RUNNING] = "running",
        [TASKS_FAILED] = "failed to start",     [TASKS_EXITED] = "exited",
        [TASKS_ABNORMAL] = "exited abnormally", [TASKS_LOST] = "lost with their node",
    };

    for (int state = 0; state < TASKS_STATES; state++) {
        struct ranges tasks = {0};
        struct str text = STR_INIT;

        for (uint32_t i = 0; i < t->count; i++)
            if (t->state[i] == state)
                ranges_add(&tasks, i);
        ranges_close(&tasks);
        if (tasks.count > 0) {
            str_printf(&text, "%s task%s %s: %s", step, tasks.count > 1 ? "s" : "", tasks.text.data,
                       words[state]);
            say(ctx, false, text.data);
        }
        str_done(&text);
        str_done(&tasks.text);
    }
}
