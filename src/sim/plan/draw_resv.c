/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations of drawn plans, what becomes of them, and jobs that request them. */
#include "sim/plan/draw.h"

static void draw_resv(struct draw *d, int64_t number)
{
    struct sim_item *r = add(d, SIM_ITEM_DO);
    r->what = SIM_DO_RESV_CREATE;
    r->at_ms = skewed(d, 1, d->span_ms);
    r->root = 1;
    PUT(r->name, "r%lld", (long long)number);
    r->uid = 1000 + between(d, 0, 2);
    r->value = skewed(d, 0, 120);
    r->for_ms = 1000 * between(d, 5, 400);
    r->id = chance(d, 40) ? skewed(d, 1, d->nodes < 4 ? d->nodes : 4) : 0;
    sim_draw_some_nodes(d, r->nodes, sizeof r->nodes);
    PUT(r->text, "%s", WORD(d, "", "", "HOURLY", "FLEX", "MAINT", "OVERLAP", "MAGNETIC"));
    if (chance(d, 75))
        PUT(r->text, ",IGNORE_JOBS");
    if (chance(d, 30))
        PUT(r->text, ",%s", WORD(d, "NO_HOLD_JOBS_AFTER", "PURGE_COMP=1"));
    if (r->id && chance(d, 40))
        PUT(r->text, ",%s", WORD(d, "REPLACE", "REPLACE_DOWN", "STATIC_ALLOC"));
    else if (chance(d, 10))
        PUT(r->text, ",TIME_FLOAT");
    const struct sim_item made = *r;
    if (!chance(d, 50))
        return;
    r = add(d, SIM_ITEM_DO);
    *r = made;
    r->what = chance(d, 50) ? SIM_DO_RESV_CHANGE : SIM_DO_RESV_DELETE;
    r->at_ms += skewed(d, 1, 200000);
    r->uid = 1000 + between(d, 0, 2);
}

/* A reservation that is there by then, for so long, for whoever owns the job; else mostly none. */
static const struct sim_item *find_resv_for_job(struct draw *d, const struct sim_item *j)
{
    const struct sim_item *found = NULL;
    vec_foreach (&d->plan->items, r)
        if (r->kind == SIM_ITEM_DO && r->what == SIM_DO_RESV_CREATE && r->at_ms < j->at_ms &&
            (!r->for_ms || r->at_ms + r->value * 1000 + r->for_ms > j->at_ms) &&
            !strstr(r->text, "FLOAT") && (r->uid == j->uid || chance(d, 5)) &&
            (!r->for_ms || j->limit_sec * 1000 <= r->for_ms || chance(d, 5)))
            found = r;
    return found;
}

/* Kept nodes, and jobs that ask for them. */
void sim_draw_reservations(struct draw *d)
{
    if (!chance(d, 30))
        return;
    int64_t count = skewed(d, 1, 4), share = between(d, 5, 50);
    for (int64_t i = 1; i <= count; i++)
        draw_resv(d, i);
    vec_foreach (&d->plan->items, j) {
        const struct sim_item *r = j->kind == SIM_ITEM_JOB ? find_resv_for_job(d, j) : NULL;
        if (r && chance(d, (unsigned)share))
            PUT(j->resv, "%s", r->name);
    }
}

/* --- licences and layers ------------------------------------------------------------------------
 */

/* A node of "n[1-4]", or all of them. */
static void narrow_nodes(struct draw *d, char nodes[SIM_TEXT])
{
    long long first, last;
    if (chance(d, 15) && sscanf(nodes, "n[%lld-%lld]", &first, &last) == 2)
        snprintf(nodes, SIM_TEXT, "n%lld", (long long)between(d, first, last));
}

static void draw_resv_licenses(struct draw *d, char licenses[SIM_TEXT])
{
    char name, nodes[SIM_TEXT];
    licenses[0] = 0;
    for (int64_t items = skewed(d, 1, 4); items > 0; items--) {
        const char *comma = *licenses ? "," : "";
        if (!d->hres || (d->licenses && chance(d, 30))) {
            put(licenses, SIM_TEXT, "%s%s", comma, WORD(d, "a", "a:2", "a:4", "b", "b:2"));
            continue;
        }
        sim_draw_find_layer(d, &name, nodes);
        narrow_nodes(d, nodes);
        put(licenses, SIM_TEXT, "%s%c(%s):%lld", comma, name, nodes,
            (long long)skewed(d, 1, d->nodes + 2));
    }
}

/* The reservation gets another user, another end and others of these, or is deleted. */
static void draw_license_resv_change(struct draw *d, const struct sim_item *made)
{
    struct sim_item *r = add(d, SIM_ITEM_DO);
    *r = *made;
    r->what = chance(d, 60) ? SIM_DO_RESV_CHANGE : SIM_DO_RESV_DELETE;
    r->at_ms += skewed(d, 1, d->span_ms);
    r->again_ms = chance(d, 4);
    if (r->what == SIM_DO_RESV_DELETE)
        return;
    r->uid = 1000 + between(d, 0, 2);
    if (chance(d, 80))
        draw_resv_licenses(d, r->licenses);
}

static void draw_license_resv(struct draw *d, int64_t number)
{
    struct sim_item *r = add(d, SIM_ITEM_DO);
    bool alone = chance(d, 70);
    r->what = SIM_DO_RESV_CREATE;
    r->at_ms = skewed(d, 1, d->span_ms);
    r->root = 1;
    PUT(r->name, "k%lld", (long long)number);
    r->uid = 1000 + between(d, 0, 2);
    r->value = skewed(d, 0, 120);
    r->for_ms = 1000 * between(d, 5, 400);
    draw_resv_licenses(d, r->licenses);
    if (alone && chance(d, 20))
        r->value = r->for_ms = 0;
    if (!alone)
        sim_draw_some_nodes(d, r->nodes, sizeof r->nodes);
    PUT(r->text, "%s",
        WORD(d, "", "", "HOURLY", "FLEX", "MAINT", "OVERLAP", "MAGNETIC", "TIME_FLOAT"));
    if (!alone)
        PUT(r->text, ",IGNORE_JOBS");
    else if (!strchr(r->licenses, '(') || chance(d, 50))
        PUT(r->text, ",LICENSE_ONLY");
    if (chance(d, 20))
        PUT(r->text, ",%s", WORD(d, "NO_HOLD_JOBS_AFTER", "PURGE_COMP=1"));
    const struct sim_item made = *r;
    for (int64_t changes = skewed(d, 0, 3); changes > 0; changes--)
        draw_license_resv_change(d, &made);
}

void sim_draw_license_reservations(struct draw *d)
{
    if ((!d->hres && !d->licenses) || !chance(d, 50))
        return;
    int64_t count = skewed(d, 1, 4), share = between(d, 20, 90);
    for (int64_t i = 1; i <= count; i++)
        draw_license_resv(d, i);
    vec_foreach (&d->plan->items, j) {
        bool may = j->kind == SIM_ITEM_JOB && *j->licenses && !*j->resv;
        const struct sim_item *r = may ? find_resv_for_job(d, j) : NULL;
        if (r && chance(d, (unsigned)share))
            PUT(j->resv, "%s", r->name);
    }
}
