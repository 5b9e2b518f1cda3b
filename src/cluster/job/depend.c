/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/depend.h"

#include <string.h>

#include "base/mem.h"
#include "cluster/cluster.h"

static const char *const words[] = {
    [DEPEND_AFTER] = "after",
    [DEPEND_AFTERANY] = "afterany",
    [DEPEND_AFTERBURSTBUFFER] = "afterburstbuffer",
    [DEPEND_AFTERCORR] = "aftercorr",
    [DEPEND_AFTERNOTOK] = "afternotok",
    [DEPEND_AFTEROK] = "afterok",
    [DEPEND_EXPAND] = "expand",
    [DEPEND_SINGLETON] = "singleton",
};

static const struct {
    char letter;
    const char *word;
} states[] = {
    [DEPEND_UNFULFILLED] = {'u', "unfulfilled"},
    [DEPEND_FULFILLED] = {'f', "fulfilled"},
    [DEPEND_FAILED] = {'x', "failed"},
};

#define CORR_LETTER 'c'

/* --- the text ----------------------------------------------------------------------------------
 */

static int refuse_text(struct err *err, const char *detail, const char *text)
{
    return err_set(err, -ERR_DEPENDENCY, "%s: %s: \"%.80s\"", err_text(ERR_DEPENDENCY), detail,
                   text);
}

static int refuse_unknown_kind(struct err *err, const char *text)
{
    int len = (int)strcspn(text, ":,?");
    return err_set(err, -ERR_DEPENDENCY,
                   len && text[len] == ':' ? "%s: unknown dependency type '%.*s'"
                                           : "%s: invalid dependency '%.*s': use TYPE:JOB[:JOB...]",
                   err_text(ERR_DEPENDENCY), len < 80 ? len : 80, text);
}

static bool read_depend_number(const char **s, uint32_t *out)
{
    uint64_t n = 0;
    const char *p = *s;
    for (; *p >= '0' && *p <= '9' && n <= UINT32_MAX; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    if (p == *s || n > UINT32_MAX)
        return false;
    *out = (uint32_t)n;
    *s = p;
    return true;
}

/* Parses JOB, JOB_ELEMENT, JOB_*, JOB+OFFSET or JOB_ELEMENT+OFFSET; after "after" the number is
 * +MINUTES instead of an offset. */
static bool read_job(const char **s, struct depend_item *item)
{
    uint32_t offset;
    bool all_elements = false;
    item->element = DEPEND_WHOLE;
    item->delay_min = 0;
    item->has_offset = false;
    if (!read_depend_number(s, &item->job_id) || item->job_id == 0)
        return false;
    if (**s == '_') {
        ++*s;
        all_elements = **s == '*';
        if (all_elements)
            ++*s;
        else if (!read_depend_number(s, &item->element) || item->element >= DEPEND_CORR)
            return false;
    }
    if (**s != '+')
        return true;
    ++*s;
    if (item->kind == DEPEND_AFTER)
        return read_depend_number(s, &item->delay_min);
    if (all_elements || !read_depend_number(s, &offset) || offset > UINT8_MAX)
        return false;
    item->has_offset = true;
    item->offset = (uint8_t)offset;
    return true;
}

static bool read_kind(const char **s, enum depend_kind *kind)
{
    size_t len = strspn(*s, "abcdefghijklmnopqrstuvwxyz");
    if (len == 0) { /* a job without an element */
        *kind = DEPEND_AFTERANY;
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) != len || strncmp(words[i], *s, len) != 0)
            continue;
        *kind = (enum depend_kind)i;
        *s += len;
        return true;
    }
    return false;
}

/* Adds an item, or counts it if there are too many. */
static void take_item(struct depend *d, const struct depend_item *item, size_t most, size_t *count)
{
    if (++*count <= most)
        vec_push(&d->items, *item);
}

/* Parses "type:job:job" up to a separator. */
static int read_clause(const char **s, struct depend *d, size_t most, size_t *count,
                       struct err *err)
{
    struct depend_item item = {.element = DEPEND_WHOLE};
    enum depend_kind kind;
    const char *start = *s;
    if (!read_kind(s, &kind))
        return refuse_unknown_kind(err, start);
    item.kind = (uint8_t)kind;
    if (item.kind == DEPEND_SINGLETON) {
        take_item(d, &item, most, count);
        return 0;
    }
    if (*s != start && *(*s)++ != ':')
        return refuse_unknown_kind(err, start);
    for (;;) {
        if (!read_job(s, &item))
            return refuse_text(err, "not a job id, or a delay where none can be", start);
        take_item(d, &item, most, count);
        if (**s != ':')
            return 0;
        ++*s;
    }
}

int depend_parse(const char *text, size_t most, struct depend *out, struct err *err)
{
    char separator = 0;
    size_t count = 0;
    *out = (struct depend){0};
    for (const char *s = text; *s;) {
        int rc = read_clause(&s, out, most, &count, err);
        if (rc != 0)
            return rc;
        if (!*s)
            break;
        if ((*s != ',' && *s != '?') || !s[1])
            return refuse_text(err, "what follows a job must be another one behind ':', ',' or '?'",
                               s);
        if (separator && separator != *s)
            return refuse_text(err, "',' and '?' cannot both be used", text);
        separator = *s++;
    }
    if (count > most)
        return err_set(err, -ERR_DEPENDENCY,
                       "%s: it names %zu jobs, and a job may wait for %zu at most: wait for a job "
                       "that waits for them, for a job array as a whole, or use singleton",
                       err_text(ERR_DEPENDENCY), count, most);
    out->any = separator == '?';
    depend_count(out);
    return 0;
}

static bool is_same_item(const struct depend_item *a, const struct depend_item *b)
{
    return a->kind == b->kind && a->job_id == b->job_id && a->element == b->element &&
           a->delay_min == b->delay_min && a->has_offset == b->has_offset &&
           (!a->has_offset || a->offset == b->offset);
}

static bool stands_before(const struct depend *d, size_t count, const struct depend_item *item)
{
    for (size_t i = 0; i < count; i++)
        if (is_same_item(&d->items.data[i], item))
            return true;
    return false;
}

bool depend_drop_repeats(struct depend *d)
{
    size_t all = d->items.len;
    d->items.len = 0;
    for (size_t i = 0; i < all; i++)
        if (!stands_before(d, d->items.len, &d->items.data[i]))
            d->items.data[d->items.len++] = d->items.data[i];
    depend_count(d);
    return d->items.len < all;
}

static void free_sets(struct depend_item *item)
{
    if (!item->sets)
        return;
    idset_done(&item->sets->good);
    idset_done(&item->sets->bad);
    free(take_ptr(item->sets));
}

void depend_done(struct depend *d)
{
    vec_foreach (&d->items, item)
        free_sets(item);
    idset_done(&d->ready);
    idset_done(&d->failed);
    vec_done(&d->items);
}

void depend_free(struct depend *d)
{
    if (d)
        depend_done(d);
    free(d);
}

void depend_set_corr(struct depend_item *item)
{
    item->corr = item->of_array = true;
    if (!item->sets)
        item->sets = mem_new(struct depend_sets);
}

/* --- states of the items ------------------------------------------------------------------------
 */

static int64_t due_at(const struct depend_item *item)
{
    return item->from_at + (int64_t)item->delay_min * 60;
}

static void count_one(struct depend *d, const struct depend_item *item)
{
    if (item->kind == DEPEND_SINGLETON) {
        d->singletons++;
        return;
    }
    d->by_state[item->state]++;
    if (item->state != DEPEND_FULFILLED || !item->from_at)
        return;
    int64_t due = due_at(item);
    d->delayed++;
    d->last_due = due > d->last_due ? due : d->last_due;
    d->first_due = !d->first_due || due < d->first_due ? due : d->first_due;
}

void depend_count(struct depend *d)
{
    memset(d->by_state, 0, sizeof d->by_state);
    d->singletons = d->delayed = 0;
    d->first_due = d->last_due = 0;
    vec_foreach (&d->items, item)
        if (!depend_is_parted(item))
            count_one(d, item);
}

static enum depend_state decide_state(enum depend_kind kind, const struct depend_outcome *o)
{
    bool good = o->over && o->state == PB__JOB_STATE__COMPLETED;
    switch (kind) {
    case DEPEND_AFTER:
        return o->begun ? DEPEND_FULFILLED : DEPEND_UNFULFILLED;
    case DEPEND_AFTERANY:
    case DEPEND_AFTERBURSTBUFFER:
        return o->over ? DEPEND_FULFILLED : DEPEND_UNFULFILLED;
    case DEPEND_AFTERCORR:
    case DEPEND_AFTEROK:
        return good ? DEPEND_FULFILLED : o->over ? DEPEND_FAILED : DEPEND_UNFULFILLED;
    case DEPEND_AFTERNOTOK:
        return good ? DEPEND_FAILED : o->over ? DEPEND_FULFILLED : DEPEND_UNFULFILLED;
    case DEPEND_EXPAND: /* the job to expand must exist when this job starts */
        return o->over ? DEPEND_FAILED : o->begun ? DEPEND_FULFILLED : DEPEND_UNFULFILLED;
    case DEPEND_SINGLETON:
        break;
    }
    return DEPEND_UNFULFILLED;
}

/* An item that is fulfilled with a delay stays fulfilled: the times of the counts only grow. */
static void set_item_state(struct depend *d, struct depend_item *item, enum depend_state state,
                           int64_t from_at)
{
    d->by_state[item->state]--;
    item->state = (uint8_t)state;
    item->from_at = from_at;
    count_one(d, item);
}

bool depend_apply(struct depend *d, struct depend_item *item, const struct depend_outcome *o)
{
    bool fixed = item->state != DEPEND_UNFULFILLED && item->kind != DEPEND_EXPAND;
    uint32_t element = o->of_element ? o->element : DEPEND_WHOLE;
    if (fixed || depend_is_parted(item) || item->job_id != o->job_id || item->element != element)
        return false;
    enum depend_state state = decide_state((enum depend_kind)item->kind, o);
    if (state == item->state || item->state == DEPEND_FAILED)
        return false;
    set_item_state(d, item, state, item->delay_min ? o->begun_at : 0);
    return true;
}

bool depend_is_met_by_unknown(const struct depend_item *item)
{
    return item->kind == DEPEND_AFTER || item->kind == DEPEND_AFTERANY ||
           item->kind == DEPEND_AFTERBURSTBUFFER;
}

void depend_apply_unknown(struct depend *d, struct depend_item *item)
{
    if (item->state != DEPEND_UNFULFILLED || item->kind == DEPEND_SINGLETON ||
        depend_is_parted(item))
        return;
    set_item_state(d, item, depend_is_met_by_unknown(item) ? DEPEND_FULFILLED : DEPEND_FAILED, 0);
}

enum depend_state depend_item_at(const struct depend_item *item, int64_t now_sec)
{
    if (item->state == DEPEND_FULFILLED && item->from_at && due_at(item) > now_sec)
        return DEPEND_UNFULFILLED;
    return (enum depend_state)item->state;
}

static enum depend_state item_state(const struct depend_item *item, int64_t now_sec, bool alone)
{
    if (item->kind == DEPEND_SINGLETON)
        return alone ? DEPEND_FULFILLED : DEPEND_UNFULFILLED;
    return depend_item_at(item, now_sec);
}

/* Returns the state of the items that apply to the whole record, ignoring items by element. */
static enum depend_state common_at(const struct depend *d, int64_t now_sec, bool alone)
{
    const uint32_t *n = d->by_state;
    if (d->any) {
        bool met = n[DEPEND_FULFILLED] > d->delayed || (d->delayed && d->first_due <= now_sec) ||
                   (d->singletons && alone) || !d->items.len;
        bool open = n[DEPEND_UNFULFILLED] || n[DEPEND_FULFILLED] || d->singletons;
        return met ? DEPEND_FULFILLED : open ? DEPEND_UNFULFILLED : DEPEND_FAILED;
    }
    bool open = n[DEPEND_UNFULFILLED] || d->last_due > now_sec || (d->singletons && !alone);
    return n[DEPEND_FAILED] ? DEPEND_FAILED : open ? DEPEND_UNFULFILLED : DEPEND_FULFILLED;
}

enum depend_state depend_at(const struct depend *d, int64_t now_sec, bool alone)
{
    enum depend_state common = common_at(d, now_sec, alone);
    bool all_ready = d->ready.count == d->of, all_failed = d->failed.count == d->of;
    if (!d->parted)
        return common;
    if (d->any)
        return common == DEPEND_FULFILLED || all_ready ? DEPEND_FULFILLED
               : common == DEPEND_FAILED && all_failed ? DEPEND_FAILED
                                                       : DEPEND_UNFULFILLED;
    return common == DEPEND_FAILED || all_failed     ? DEPEND_FAILED
           : common == DEPEND_FULFILLED && all_ready ? DEPEND_FULFILLED
                                                     : DEPEND_UNFULFILLED;
}

bool depend_is_partly_met(const struct depend *d, int64_t now_sec, bool alone)
{
    if (!d->parted || !d->ready.count)
        return false;
    return d->any || common_at(d, now_sec, alone) == DEPEND_FULFILLED;
}

int64_t depend_next_at(const struct depend *d, int64_t now_sec)
{
    int64_t next = d->any ? d->first_due : d->last_due;
    return next > now_sec ? next : 0;
}

bool depend_may_wait_again(const struct depend *d)
{
    bool expands = d->items.len == 1 && d->items.data[0].kind == DEPEND_EXPAND;
    return d->singletons || expands;
}

/* --- text and record ----------------------------------------------------------------------------
 */

/* 'c' knows the job ids of components, "20+1"; may be NULL. */
static void put_item(const struct cluster *c, const struct depend_item *item, struct str *out)
{
    const struct job *j = c ? cluster_find_job(c, item->job_id) : NULL;
    str_puts(out, words[item->kind]);
    if (item->kind != DEPEND_SINGLETON && j && !job_set_is_leader(j))
        str_printf(out, ":%s", JOB_ID_TEXT(j));
    else if (item->kind != DEPEND_SINGLETON)
        str_printf(out, ":%u", item->job_id);
    if (item->element != DEPEND_WHOLE && !item->corr)
        str_printf(out, "_%u", item->element);
    else if (item->of_array)
        str_puts(out, "_*");
    if (item->delay_min)
        str_printf(out, "+%u", item->delay_min);
}

void depend_format_request(const struct depend *d, struct str *out)
{
    vec_foreach (&d->items, item) {
        if (item != d->items.data)
            str_putc(out, d->any ? '?' : ',');
        put_item(NULL, item, out);
    }
}

void depend_format(const struct cluster *c, const struct depend *d, int64_t now_sec, bool alone,
                   struct str *out)
{
    enum depend_state whole = depend_at(d, now_sec, alone);
    bool first = true;
    if (whole == DEPEND_FULFILLED)
        return;
    vec_foreach (&d->items, item) {
        enum depend_state state = item_state(item, now_sec, alone);
        if (state == DEPEND_FULFILLED && whole != DEPEND_FAILED)
            continue;
        if (!first)
            str_putc(out, d->any ? '?' : ',');
        first = false;
        put_item(c, item, out);
        str_printf(out, "(%s)", states[state].word);
    }
}

void depend_pack(const struct depend *d, struct str *out)
{
    vec_foreach (&d->items, item)
        str_putc(out, item->corr && item->state == DEPEND_UNFULFILLED ? CORR_LETTER
                                                                      : states[item->state].letter);
}

bool depend_unpack(struct depend *d, const char *letters)
{
    if (strlen(letters) != d->items.len)
        return false;
    vec_foreach (&d->items, item) {
        char letter = letters[item - d->items.data];
        if (letter == CORR_LETTER)
            depend_set_corr(item);
        for (size_t s = 0; s < sizeof states / sizeof states[0]; s++)
            if (states[s].letter == letter)
                item->state = (uint8_t)s;
    }
    depend_count(d);
    return true;
}
