/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/job_ids.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/idset.h"
#include "base/mem.h"
#include "base/sluid.h"
#include "base/step_id.h"
#include "base/vec.h"
#include "show/job_state.h"

#define BITSTR_LEN 64
#define LISTED_MAX 5 /* as Slurm: this number of evenly spaced elements is listed one by one */

size_t job_ids_word(const char *list)
{
    size_t len = 0;
    for (bool in = false; list[len] && (in || !strchr(", ", list[len])); len++)
        in = list[len] == '[' || (in && list[len] != ']');
    return len;
}

/* Accepts "4" or "[1-5,7]" and returns the text without brackets; NULL if the text is neither. */
static char *check_tasks(char *text)
{
    static struct arena kept; /* lives until the process ends */
    struct idset tasks = {0};
    size_t len = strlen(text);
    bool list = *text == '[';
    if (list && text[len - 1] == ']')
        text[len - 1] = 0;
    else if (list || !*text || text[strspn(text, "0123456789")])
        return NULL;
    if (idset_parse(text + list, JOB_IDS_TASKS_BELOW, &tasks, NULL) != 0)
        return NULL;
    idset_done(&tasks);
    return arena_strdup(&kept, text + list);
}

int job_ids_parse(const char *text, Pb__StepId *id, struct err *err)
{
    size_t len = strcspn(text, ".");
    _cleanup_free_ char *job = mem_strndup(text, len);
    const char *step = text[len] ? text + len + 1 : NULL;
    char *component = strchr(job, '+'), *tasks = component ? NULL : strchr(job, '_');
    if (tasks)
        *tasks++ = 0;
    if (component)
        *component++ = 0;
    long long job_id, offset = 0;
    uint32_t step_id = 0;
    bool ok = isdigit((unsigned char)*job) && str_parse_i64(job, 1, INT32_MAX, &job_id) == 0 &&
              (!tasks || (tasks = check_tasks(tasks)));
    ok = ok && (!component || (isdigit((unsigned char)*component) &&
                               str_parse_i64(component, 0, INT32_MAX, &offset) == 0));
    ok = ok && (!step || step_id_parse(step, &step_id));
    if (!ok)
        return err_set(err, -ERR_PARSE, "Invalid job id %s", text);
    id->job_id = (uint32_t)job_id;
    id->array_tasks = tasks;
    id->has_set_offset = component != NULL;
    id->set_offset = (uint32_t)offset;
    id->has_step_id = step != NULL;
    id->step_id = step_id;
    return 0;
}

/* The number of bytes that the list of element numbers may take; 0: no limit. */
static size_t read_bitstr_len(void)
{
    const char *text = getenv("SLURM_BITSTR_LEN");
    long long n;
    return text && str_parse_i64(text, 0, INT32_MAX, &n) == 0 ? (size_t)n : BITSTR_LEN;
}

/* A range, or enough evenly spaced numbers. */
static bool is_regular(const struct idset *s)
{
    const struct idset_run *r = s->runs.data;
    return s->runs.len == 1 && (r->step == 1 || (r->last - r->first) / r->step >= LISTED_MAX);
}

/* Writes more than LISTED_MAX evenly spaced numbers as "0-20:4", others one by one or as ranges.
 * Stops soon after 'most' bytes; the caller cuts the rest. */
static void put_set(const struct idset *s, size_t most, struct str *out)
{
    struct idset_run r;
    const char *comma = "";
    size_t start = out->len;
    if (is_regular(s)) {
        idset_format(s, out);
        return;
    }
    for (int64_t from = 0; idset_next_run(s, from, &r); comma = ",") {
        bool range = r.step == 1 && r.last > r.first;
        str_printf(out, "%s%u", comma, r.first);
        if (range)
            str_printf(out, "-%u", r.last);
        from = (int64_t)(range ? r.last : r.first) + 1;
        if (most && out->len - start > most + BITSTR_LEN)
            return;
    }
}

bool job_ids_put_tasks(const Pb__JobLive *live, struct str *out)
{
    struct idset tasks = {0};
    if (!live->has_array_job_id)
        return false;
    if (!live->array_tasks ||
        idset_parse(live->array_tasks, JOB_IDS_TASKS_BELOW, &tasks, NULL) != 0) {
        str_printf(out, "%u", live->array_task_id);
        return true;
    }
    size_t start = out->len, most = read_bitstr_len();
    put_set(&tasks, most, out);
    idset_done(&tasks);
    if (most && out->len - start > most) {
        size_t keep = most > 4 ? most - 4 : 1;
        while (keep > 1 && out->data[start + keep] != ',')
            keep--;
        out->len = start + keep;
        str_puts(out, ",...");
    }
    if (live->array_throttle)
        str_printf(out, "%%%u", live->array_throttle);
    return true;
}

void job_ids_put(const Pb__JobLive *live, struct str *out)
{
    job_ids_put_whole(live, out);
    if (live->has_set_id)
        str_printf(out, "+%u", live->set_offset);
}

void job_ids_put_whole(const Pb__JobLive *live, struct str *out)
{
    if (!live->has_array_job_id) {
        str_printf(out, "%u", job_ids_set_id(live));
        return;
    }
    str_printf(out, "%u_%s", live->array_job_id, live->array_tasks ? "[" : "");
    job_ids_put_tasks(live, out);
    if (live->array_tasks)
        str_putc(out, ']');
}

static struct asked {
    uint32_t job_id;
    char *name;
    UT_hash_handle hh;
} * asked_names; /* lives until the command ends */

static const struct asked *find_asked(uint32_t job_id)
{
    struct asked *found = NULL;
    HASH_FIND(hh, asked_names, &job_id, sizeof job_id, found);
    return found;
}

void job_ids_remember(uint32_t job_id, const char *name)
{
    if (find_asked(job_id))
        return;
    struct asked *new = mem_new(struct asked);
    new->job_id = job_id;
    new->name = mem_strdup(name);
    HASH_ADD(hh, asked_names, job_id, sizeof new->job_id, new);
}

void job_ids_put_asked(const Pb__StepId *id, struct str *out)
{
    char buf[STEP_ID_TEXT_MAX];
    const char *tasks = id->array_tasks;
    const struct asked *as = tasks ? NULL : find_asked(id->job_id);
    if (as)
        str_puts(out, as->name);
    else
        str_printf(out, "%u", id->job_id);
    if (tasks)
        str_printf(out, strpbrk(tasks, ",-") ? "_[%s]" : "_%s", tasks);
    if (id->has_set_offset)
        str_printf(out, "+%u", id->set_offset);
    if (id->has_step_id)
        str_puts(out, strchr(step_id_text(id->job_id, id->step_id, buf), '.'));
}

bool job_ids_are_equal(const Pb__StepId *a, const Pb__StepId *b)
{
    return a->job_id == b->job_id && a->has_set_offset == b->has_set_offset &&
           a->set_offset == b->set_offset && a->has_step_id == b->has_step_id &&
           a->step_id == b->step_id && str_eq(a->array_tasks, b->array_tasks);
}

uint32_t job_ids_set_id(const Pb__JobLive *live)
{
    return live->has_set_id ? live->set_id : live->job_id;
}

bool job_ids_is_leader(const Pb__JobLive *live)
{
    return !live->has_set_id || live->set_offset == 0;
}

Pb__StepId job_ids_make_whole(const Pb__JobLive *live, struct arena *arena)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    id.job_id = live->has_array_job_id ? live->array_job_id : job_ids_set_id(live);
    if (live->has_array_job_id)
        id.array_tasks = arena_printf(arena, "%u", live->array_task_id);
    return id;
}

void job_ids_of(const Pb__JobLive *live, Pb__StepId *id, struct arena *arena)
{
    pb__step_id__init(id);
    if (live->has_set_id) {
        id->job_id = live->set_id;
        id->has_set_offset = true;
        id->set_offset = live->set_offset;
        return;
    }
    id->job_id = live->has_array_job_id ? live->array_job_id : live->job_id;
    if (live->array_tasks)
        id->array_tasks = arena_strdup(arena, live->array_tasks);
    else if (live->has_array_job_id)
        id->array_tasks = arena_printf(arena, "%u", live->array_task_id);
}

const char *job_ids_sluid(uint32_t job_id, int64_t submit_at_sec, struct str *out)
{
    str_puts(out, SLUID_TEXT(job_id, submit_at_sec));
    return str_cstr(out);
}

int64_t job_ids_rank(const Pb__JobLive *live)
{
    if (live->has_set_id && live->has_array_job_id)
        return (int64_t)((uint64_t)live->array_job_id << 32 | live->array_task_id << 7 |
                         live->set_offset);
    if (live->has_set_id)
        return (int64_t)((uint64_t)live->set_id << 32 | live->set_offset);
    uint32_t id = live->has_array_job_id ? live->array_job_id : live->job_id;
    uint64_t task = live->array_tasks ? strtoul(live->array_tasks, NULL, 10) : live->array_task_id;
    struct idset bits = {0}; /* from a mask as "0x1f" */
    if (live->array_tasks && str_starts(live->array_tasks, "0x") &&
        idset_parse(live->array_tasks, JOB_IDS_TASKS_BELOW, &bits, NULL) == 0)
        task = idset_first(&bits);
    idset_done(&bits);
    return (int64_t)((uint64_t)id << 32 | task);
}

Pb__JobComponent *job_ids_component(const Pb__StepId *id, struct arena *arena)
{
    Pb__JobComponent *m = arena_alloc(arena, sizeof(*m));
    pb__job_component__init(m);
    m->job_id = id->job_id;
    m->set_offset = id->set_offset;
    return m;
}

void job_ids_filter(const Pb__StepId *ids, size_t count, Pb__JobFilter *f, struct arena *arena)
{
    f->job_id = arena_alloc(arena, (count + 1) * sizeof(*f->job_id));
    f->array = arena_alloc(arena, (count + 1) * sizeof(Pb__ArrayTasks *));
    f->component = arena_alloc(arena, (count + 1) * sizeof(Pb__JobComponent *));
    for (size_t i = 0; i < count; i++) {
        if (ids[i].has_set_offset) {
            f->component[f->n_component++] = job_ids_component(&ids[i], arena);
            continue;
        }
        if (!ids[i].array_tasks) {
            f->job_id[f->n_job_id++] = ids[i].job_id;
            continue;
        }
        Pb__ArrayTasks *a = arena_alloc(arena, sizeof(*a));
        pb__array_tasks__init(a);
        a->job_id = ids[i].job_id;
        a->tasks = ids[i].array_tasks;
        f->array[f->n_array++] = a;
    }
}

void job_ids_trim(const Pb__StepId *ids, size_t count, Pb__JobLive *live, struct arena *arena)
{
    struct idset tasks = {0}, wanted = {0}, both = {0};
    struct str text = STR_INIT;
    bool all = count == 0;
    for (size_t i = 0; i < count; i++)
        all |= !ids[i].array_tasks &&
               (ids[i].job_id == live->job_id || ids[i].job_id == live->array_job_id);
    if (all || !live->array_tasks ||
        idset_parse(live->array_tasks, JOB_IDS_TASKS_BELOW, &tasks, NULL) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!ids[i].array_tasks || ids[i].job_id != live->array_job_id ||
            idset_parse(ids[i].array_tasks, JOB_IDS_TASKS_BELOW, &wanted, NULL) != 0)
            continue;
        struct idset some = {0};
        idset_split(&tasks, &wanted, &some);
        idset_unite(&both, &some);
        idset_done(&some);
    }
    if (both.count) {
        idset_format(&both, &text);
        live->has_array_task_id = both.count == 1;
        live->array_task_id = idset_first(&both);
        live->array_tasks = both.count > 1 ? arena_strdup(arena, str_cstr(&text)) : NULL;
    }
    idset_done(&tasks);
    idset_done(&wanted);
    idset_done(&both);
    str_done(&text);
}

static bool is_named(const Pb__StepId *id, const Pb__JobLive *live)
{
    struct idset mine = {0}, wanted = {0}, both = {0};
    if (live->has_set_id && id->job_id == live->set_id && !id->array_tasks &&
        (id->has_set_offset || !live->has_array_job_id || id->job_id != live->array_job_id))
        return !id->has_set_offset || id->set_offset == live->set_offset;
    if (id->has_set_offset)
        return false;
    if (id->job_id == live->job_id && !id->array_tasks)
        return true;
    if (!live->has_array_job_id || id->job_id != live->array_job_id)
        return false;
    if (!id->array_tasks || idset_parse(id->array_tasks, JOB_IDS_TASKS_BELOW, &wanted, NULL) != 0)
        return !id->array_tasks;
    bool named = idset_has(&wanted, live->array_task_id);
    if (live->array_tasks &&
        idset_parse(live->array_tasks, JOB_IDS_TASKS_BELOW, &mine, NULL) == 0) {
        idset_split(&mine, &wanted, &both);
        named = both.count > 0;
    }
    idset_done(&mine);
    idset_done(&wanted);
    idset_done(&both);
    return named;
}

/* Whether the id names all components: that of the leader, an array element or the array. */
static bool names_whole_set(const Pb__StepId *id, const Pb__JobLive *live)
{
    bool by_array = live->has_array_job_id && (id->array_tasks || id->job_id == live->array_job_id);
    return live->has_set_id && !id->has_set_offset && (id->job_id == live->set_id || by_array);
}

/* The leader's record reports a step of all components, and the records of the others do not. */
static bool is_reported_by_leader(const Pb__StepId *id, const Pb__JobLive *live)
{
    return names_whole_set(id, live) && !job_ids_is_leader(live);
}

static Pb__StepId step_target(const Pb__StepId *asked, const Pb__JobLive *live, struct arena *arena)
{
    Pb__JobLive part = *live;
    Pb__StepId step = *asked;
    if (names_whole_set(asked, live)) {
        step.job_id = live->set_id;
        step.array_tasks = NULL;
        return step;
    }
    job_ids_trim(asked, 1, &part, arena);
    job_ids_of(&part, &step, arena);
    step.has_step_id = true;
    step.step_id = asked->step_id;
    return step;
}

bool job_ids_has_target(const Pb__StepId *id, const Pb__JobLive *live)
{
    return is_named(id, live) && !(id->has_step_id && is_reported_by_leader(id, live));
}

size_t job_ids_targets(const Pb__StepId *ids, size_t count, Pb__JobLive *live, struct arena *arena,
                       Pb__StepId **out)
{
    VEC(Pb__StepId) whole = {0}, found = {0};
    for (size_t i = 0; i < count; i++) {
        if (!job_ids_has_target(&ids[i], live))
            continue;
        if (!ids[i].has_step_id)
            vec_push(&whole, ids[i]);
        else
            vec_push(&found, step_target(&ids[i], live, arena));
    }
    if (count == 0 || whole.len) { /* the steps belong to the job */
        Pb__StepId id;
        job_ids_trim(whole.data, whole.len, live, arena);
        job_ids_of(live, &id, arena);
        vec_clear(&found);
        vec_push(&found, id);
    }
    size_t n = found.len;
    *out = arena_alloc(arena, (n + 1) * sizeof(**out));
    if (n)
        memcpy(*out, found.data, n * sizeof(**out));
    vec_done(&whole);
    vec_done(&found);
    return n;
}
