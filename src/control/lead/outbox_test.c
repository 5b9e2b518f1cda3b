/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nothing leaves before its batch is durable, and nothing overtakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "control/lead/outbox.h"

struct world {
    struct outbox *o;
    struct str sent; /* items that have left, each followed by a blank */
    unsigned commits;
    bool add_in_send; /* a send that adds another item */
    bool may_be_empty;
    bool changed;
    unsigned deferred;
};

static void add_acknowledgement(struct world *w, const char *text)
{
    outbox_add(w->o, outbox_item_new(OUTBOX_ACK, text, strlen(text)));
}

static void add_reply(struct world *w, const char *text)
{
    outbox_add(w->o, outbox_item_new(OUTBOX_REPLY, text, strlen(text)));
}

static void on_send(void *ctx, const struct outbox_item *item)
{
    struct world *w = ctx;
    str_printf(&w->sent, "%s ", item->data);
    if (w->add_in_send) {
        w->add_in_send = false;
        add_reply(w, "caused");
    }
}

static bool is_changed(void *ctx)
{
    return ((struct world *)ctx)->changed;
}

static void on_commit(void *ctx)
{
    struct world *w = ctx;
    w->commits++;
    assert_true(w->may_be_empty || w->changed);
    w->changed = false;
}

static void make_change(struct world *w)
{
    w->changed = true;
}

static void on_defer(void *ctx)
{
    struct world *w = ctx;
    w->deferred++;
}

static int setup_with(void **state, void (*defer)(void *ctx))
{
    struct world *w = mem_new(struct world);
    struct outbox_ops ops = {
        .send = on_send, .changed = is_changed, .commit = on_commit, .defer = defer, .ctx = w};
    w->o = outbox_new(&ops);
    *state = w;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, NULL);
}

static int setup_deferring(void **state)
{
    return setup_with(state, on_defer);
}

static int teardown(void **state)
{
    struct world *w = *state;
    outbox_free(w->o);
    str_done(&w->sent);
    free(w);
    return 0;
}

static void reply_without_changes_is_sent_at_the_end_of_the_turn(void **state)
{
    struct world *w = *state;
    add_reply(w, "a");
    add_reply(w, "b");
    assert_string_equal(str_cstr(&w->sent), "");
    outbox_turn(w->o);
    assert_string_equal(str_cstr(&w->sent), "a b ");
    assert_int_equal(w->commits, 0);
    assert_true(outbox_is_idle(w->o));
}

static void changes_delay_all_replies_of_the_turn(void **state)
{
    struct world *w = *state;
    add_reply(w, "before");
    make_change(w);
    add_reply(w, "after");
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    assert_string_equal(str_cstr(&w->sent), "");
    assert_false(outbox_is_idle(w->o));
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "before after ");
    assert_true(outbox_is_idle(w->o));
}

/* A read sees state that is not durable yet: it waits for the running commit. */
static void reads_wait_for_the_running_commit(void **state)
{
    struct world *w = *state;
    make_change(w);
    outbox_turn(w->o);
    add_reply(w, "read");
    outbox_turn(w->o);
    assert_string_equal(str_cstr(&w->sent), "");
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "read ");
}

/* One commit at a time; later changes go with the next one, and all later items wait. */
static void later_changes_gather_in_the_next_batch(void **state)
{
    struct world *w = *state;
    make_change(w);
    add_reply(w, "first");
    outbox_turn(w->o);
    make_change(w);
    add_reply(w, "second");
    outbox_turn(w->o);
    make_change(w);
    add_reply(w, "third");
    outbox_turn(w->o);
    add_reply(w, "read");
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "first ");
    assert_int_equal(w->commits, 1); /* the next one begins at the end of the turn */
    outbox_turn(w->o);
    assert_int_equal(w->commits, 2);
    assert_string_equal(str_cstr(&w->sent), "first ");
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "first second third read ");
    outbox_turn(w->o);
    assert_int_equal(w->commits, 2);
    assert_true(outbox_is_idle(w->o));
}

/* A commit ends in the middle of a turn: items that this turn has added are not bound yet and
 * stay. */
static void replies_of_the_current_turn_outlast_a_commit_of_the_last(void **state)
{
    struct world *w = *state;
    make_change(w);
    add_reply(w, "old");
    outbox_turn(w->o);
    make_change(w);
    add_reply(w, "new");
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "old ");
    outbox_turn(w->o);
    assert_string_equal(str_cstr(&w->sent), "old ");
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "old new ");
}

static void sending_may_add_replies(void **state)
{
    struct world *w = *state;
    w->add_in_send = true;
    add_reply(w, "a");
    add_reply(w, "b");
    outbox_turn(w->o);
    assert_string_equal(str_cstr(&w->sent), "a b ");
    outbox_turn(w->o);
    assert_string_equal(str_cstr(&w->sent), "a b caused ");

    w->add_in_send = true; /* the last item adds it, during a commit */
    make_change(w);
    add_reply(w, "c");
    outbox_turn(w->o);
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "a b caused c ");
    make_change(w);
    outbox_turn(w->o);
    assert_string_equal(str_cstr(&w->sent), "a b caused c ");
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "a b caused c caused ");
}

/* The lead may be lost at any time: a commit that began before an item was added proves nothing for
 * it. */
static void reply_with_proof_needs_a_commit_that_began_after_it(void **state)
{
    struct world *w = *state;
    outbox_prove(w->o);
    w->may_be_empty = true;
    outbox_turn(w->o);
    assert_int_equal(w->commits, 0); /* no item was added */
    add_reply(w, "a");
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    add_reply(w, "b");
    outbox_turn(w->o);
    assert_string_equal(str_cstr(&w->sent), "");
    assert_int_equal(w->commits, 1);
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "a ");
    assert_false(outbox_is_idle(w->o));
    outbox_turn(w->o);
    assert_int_equal(w->commits, 2);
    assert_string_equal(str_cstr(&w->sent), "a ");
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "a b ");
    outbox_turn(w->o);
    assert_int_equal(w->commits, 2);
    assert_true(outbox_is_idle(w->o));
}

static void a_check_is_a_commit_without_changes(void **state)
{
    struct world *w = *state;
    w->may_be_empty = true;
    outbox_check(w->o);
    assert_false(outbox_is_idle(w->o));
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    outbox_check(w->o); /* during a commit: another one */
    outbox_turn(w->o);
    outbox_durable(w->o);
    outbox_turn(w->o);
    assert_int_equal(w->commits, 2);
    outbox_durable(w->o);
    outbox_turn(w->o);
    assert_int_equal(w->commits, 2);
    assert_true(outbox_is_idle(w->o));
}

static void acknowledgements_share_the_next_commit(void **state)
{
    struct world *w = *state;
    make_change(w);
    add_acknowledgement(w, "ack1");
    outbox_turn(w->o);
    outbox_turn(w->o);
    assert_int_equal(w->commits, 0);
    assert_int_equal(w->deferred, 1);
    assert_string_equal(str_cstr(&w->sent), "");
    assert_false(outbox_is_idle(w->o));
    make_change(w);
    add_reply(w, "reply");
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "ack1 reply ");
    assert_true(outbox_is_idle(w->o));
}

static void deferred_changes_are_committed_after_the_delay(void **state)
{
    struct world *w = *state;
    make_change(w);
    add_acknowledgement(w, "ack");
    outbox_turn(w->o);
    outbox_hurry(w->o);
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    make_change(w); /* gathers behind the commit, and is deferred when that has ended */
    add_acknowledgement(w, "next");
    outbox_turn(w->o);
    outbox_durable(w->o);
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    assert_int_equal(w->deferred, 2);
    assert_string_equal(str_cstr(&w->sent), "ack ");
}

/* A read that sees a deferred change is not answered before the change is durable. */
static void read_ends_the_deferral(void **state)
{
    struct world *w = *state;
    make_change(w);
    outbox_turn(w->o);
    assert_int_equal(w->commits, 0);
    add_reply(w, "read");
    outbox_turn(w->o);
    assert_int_equal(w->commits, 1);
    assert_string_equal(str_cstr(&w->sent), "");
    outbox_durable(w->o);
    assert_string_equal(str_cstr(&w->sent), "read ");
}

/* Random interleavings against a plain model of the batch that each item waits for. */
struct model {
    unsigned batch_of[20000], items, left;
    unsigned started, durable; /* numbers of commits */
    bool flying, gathered;
    bool defers, urgent, replied; /* replied: an item other than an acknowledgement in this turn */
};

static void take_model_turn(struct world *w, struct model *m)
{
    unsigned before = w->commits;
    outbox_turn(w->o);
    unsigned gate = m->gathered ? m->started + 1 : m->flying ? m->started : m->durable;
    for (unsigned i = m->items; i > 0 && m->batch_of[i - 1] == UINT32_MAX; i--)
        m->batch_of[i - 1] = gate;
    m->urgent = m->urgent || (m->gathered && m->replied);
    m->replied = false;
    assert_int_equal(w->commits - before, m->gathered && !m->flying && (m->urgent || !m->defers));
    if (w->commits != before) {
        m->urgent = false;
        m->started++;
        m->flying = true;
        m->gathered = false;
    }
}

static void check_model(struct world *w, struct model *m)
{
    char *rest = NULL;
    for (char *word = w->sent.len ? strtok_r(w->sent.data, " ", &rest) : NULL; word;
         word = strtok_r(NULL, " ", &rest)) {
        assert_int_equal(atoi(word), m->left);
        assert_true(m->batch_of[m->left] <= m->durable);
        m->left++;
    }
    str_clear(&w->sent);
    if (m->left < m->items && m->batch_of[m->left] <= m->durable)
        fail_msg("item %u was held though batch %u is durable", m->left, m->durable);
}

static void run_model(struct world *w, bool defers)
{
    _cleanup_free_ struct model *m = mem_new(struct model);
    m->defers = defers;
    uint64_t random = 88172645463325252u;
    for (unsigned round = 0; round < 20000; round++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        char text[16];
        switch (random % (defers ? 6 : 4)) {
        case 0:
            make_change(w);
            m->gathered = true;
            break;
        case 4:
            outbox_hurry(w->o);
            m->urgent = true;
            break;
        case 1:
        case 5:
            snprintf(text, sizeof(text), "%u", m->items);
            if (random % 6 == 5) {
                add_acknowledgement(w, text);
            } else {
                add_reply(w, text);
                m->replied = true;
            }
            m->batch_of[m->items++] = UINT32_MAX;
            break;
        case 2:
            take_model_turn(w, m);
            break;
        case 3:
            if (!m->flying)
                break;
            m->durable = m->started;
            m->flying = false;
            outbox_durable(w->o);
        }
        check_model(w, m);
    }
    assert_true(m->left > 1000);
}

static void random_turns_send_nothing_before_its_commit(void **state)
{
    run_model(*state, false);
}

static void random_deferred_turns_send_nothing_before_their_commit(void **state)
{
    run_model(*state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reply_without_changes_is_sent_at_the_end_of_the_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(changes_delay_all_replies_of_the_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_wait_for_the_running_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(later_changes_gather_in_the_next_batch, setup, teardown),
        cmocka_unit_test_setup_teardown(replies_of_the_current_turn_outlast_a_commit_of_the_last,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(sending_may_add_replies, setup, teardown),
        cmocka_unit_test_setup_teardown(reply_with_proof_needs_a_commit_that_began_after_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_check_is_a_commit_without_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(acknowledgements_share_the_next_commit, setup_deferring,
                                        teardown),
        cmocka_unit_test_setup_teardown(deferred_changes_are_committed_after_the_delay,
                                        setup_deferring, teardown),
        cmocka_unit_test_setup_teardown(read_ends_the_deferral, setup_deferring, teardown),
        cmocka_unit_test_setup_teardown(random_turns_send_nothing_before_its_commit, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(random_deferred_turns_send_nothing_before_their_commit,
                                        setup_deferring, teardown),
    };
    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
