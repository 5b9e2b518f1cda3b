/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/mpi/pmi_spawn.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define WORD_COST 64 /* approximate cost of an empty word in bytes */

struct pmi_spawn {
    Pb__Spawn *request;
    size_t bytes;
    long long blocks, block; /* PMI-1: number of blocks, and number of the present one */
    struct err err;          /* the first error; code 0: none */
};

enum word {
    COMMAND,
    PROGRAM,
    TASKS,
    ARGUMENT,
    PUT_KEY,
    PUT_VALUE,
    INFO_KEY,
    INFO_VALUE,
    BLOCKS,
    BLOCK
};

/* Names used by the libraries. Numbered words are sent in order, so the numbers are redundant. */
static const struct {
    const char *name;
    enum word word;
    bool numbered;
} words[] = {
    {"mcmd", COMMAND},
    {"nprocs", TASKS},
    {"execname", PROGRAM},
    {"arg", ARGUMENT, true},
    {"preput_key_", PUT_KEY, true},
    {"preput_val_", PUT_VALUE, true},
    {"info_key_", INFO_KEY, true},
    {"info_val_", INFO_VALUE, true},
    {"totspawns", BLOCKS},
    {"spawnssofar", BLOCK},
    {"subcmd", PROGRAM},
    {"maxprocs", TASKS},
    {"argv", ARGUMENT, true},
    {"ppkey", PUT_KEY, true},
    {"ppval", PUT_VALUE, true},
    {"infokey", INFO_KEY, true},
    {"infoval", INFO_VALUE, true},
};

/* Appends to a list whose capacity doubles. */
#define PUSH(list, count, item)                                                                    \
    do {                                                                                           \
        if (!((count) & ((count)-1)))                                                              \
            (list) = mem_realloc((list), ((count) ? (count)*2 : 1) * sizeof(*(list)));             \
        (list)[(count)++] = (item);                                                                \
    } while (0)

struct pmi_spawn *pmi_spawn_new(void)
{
    struct pmi_spawn *s = mem_new(struct pmi_spawn);

    s->request = mem_new(Pb__Spawn);
    pb__spawn__init(s->request);
    return s;
}

void pmi_spawn_free(struct pmi_spawn *s)
{
    if (!s)
        return;
    pb__spawn__free_unpacked(s->request, NULL);
    free(s);
}

static void set_malformed(struct pmi_spawn *s, const char *name)
{
    err_set(&s->err, -ERR_PARSE, "a request for processes: %.40s is not where it belongs", name);
}

static void begin_command(struct pmi_spawn *s)
{
    Pb__SpawnCommand *c;

    if (s->request->n_command >= PMI_SPAWN_COMMANDS_MAX) {
        err_set(&s->err, -ERR_LIMIT, "more than %d commands", PMI_SPAWN_COMMANDS_MAX);
        return;
    }
    c = mem_new(Pb__SpawnCommand);
    pb__spawn_command__init(c);
    PUSH(s->request->command, s->request->n_command, c);
}

static Pb__KvsEntry *entry_new(const char *key)
{
    Pb__KvsEntry *e = mem_new(Pb__KvsEntry);

    pb__kvs_entry__init(e);
    e->key = mem_strdup(key);
    e->value = mem_strdup("");
    return e;
}

static void set_value(struct pmi_spawn *s, const char *name, Pb__KvsEntry **list, size_t count,
                      const char *value)
{
    if (!count || *list[count - 1]->value) {
        set_malformed(s, name);
        return;
    }
    free(list[count - 1]->value);
    list[count - 1]->value = mem_strdup(value);
}

static void set_tasks(struct pmi_spawn *s, Pb__SpawnCommand *c, const char *value)
{
    long long tasks;

    if (str_parse_i64(value, 1, INT32_MAX, &tasks))
        err_set(&s->err, -ERR_PARSE, "invalid process count '%.20s'", value);
    else
        c->tasks = (uint32_t)tasks;
}

/* argv[0] was set before the arguments, or is set now. */
static void set_program(struct pmi_spawn *s, Pb__SpawnCommand *c, const char *value)
{
    if (c->n_argv || !*value)
        set_malformed(s, "the program");
    else
        PUSH(c->argv, c->n_argv, mem_strdup(value));
}

static void add_argument(struct pmi_spawn *s, Pb__SpawnCommand *c, const char *name,
                         const char *value)
{
    if (!c->n_argv)
        set_malformed(s, name);
    else
        PUSH(c->argv, c->n_argv, mem_strdup(value));
}

static void apply_word(struct pmi_spawn *s, enum word word, const char *name, const char *value)
{
    Pb__Spawn *r = s->request;
    Pb__SpawnCommand *c = r->n_command ? r->command[r->n_command - 1] : NULL;

    if (word == PUT_KEY)
        PUSH(r->preput, r->n_preput, entry_new(value));
    else if (word == PUT_VALUE)
        set_value(s, name, r->preput, r->n_preput, value);
    else if (word == BLOCKS || word == BLOCK) {
        if (str_parse_i64(value, 1, INT32_MAX, word == BLOCKS ? &s->blocks : &s->block))
            set_malformed(s, name);
    } else if (!c)
        set_malformed(s, name);
    else if (word == TASKS)
        set_tasks(s, c, value);
    else if (word == PROGRAM)
        set_program(s, c, value);
    else if (word == ARGUMENT)
        add_argument(s, c, name, value);
    else if (word == INFO_KEY)
        PUSH(c->info, c->n_info, entry_new(value));
    else
        set_value(s, name, c->info, c->n_info, value);
}

static int find_word(const char *name)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i].name);

        if (words[i].numbered ? !strncmp(name, words[i].name, len) && name[len] &&
                                    !name[len + strspn(name + len, "0123456789")]
                              : !strcmp(name, words[i].name))
            return (int)i;
    }
    return -1;
}

void pmi_spawn_word(struct pmi_spawn *s, const char *name, const char *value)
{
    int at = find_word(name);

    if (!value) {
        if (!s->err.code)
            set_malformed(s, name);
        return;
    }
    if (at < 0 || (s->err.code && words[at].word != BLOCKS && words[at].word != BLOCK))
        return;
    s->bytes += strlen(value) + WORD_COST;
    if (s->bytes > PMI_SPAWN_BYTES_MAX && !s->err.code) {
        err_set(&s->err, -ERR_LIMIT, "its words have more than %u bytes", PMI_SPAWN_BYTES_MAX);
        return;
    }
    if (words[at].word == COMMAND || !strcmp(name, "subcmd"))
        begin_command(s);
    if (words[at].word != COMMAND && (!s->err.code || words[at].word >= BLOCKS))
        apply_word(s, words[at].word, name, value);
}

bool pmi_spawn_is_whole(const struct pmi_spawn *s)
{
    return s->block >= s->blocks;
}

int pmi_spawn_finish(struct pmi_spawn *s, Pb__Spawn **out, struct err *err)
{
    const Pb__Spawn *r = s->request;
    uint64_t tasks = 0;

    for (size_t i = 0; i < r->n_command && !s->err.code; i++) {
        tasks += r->command[i]->tasks;
        if (!r->command[i]->n_argv || !r->command[i]->tasks)
            err_set(&s->err, -ERR_PARSE, "command %zu has no %s", i + 1,
                    r->command[i]->n_argv ? "number of processes" : "program");
    }
    if (!r->n_command && !s->err.code)
        err_set(&s->err, -ERR_PARSE, "no command");
    if (tasks > PMI_SPAWN_TASKS_MAX && !s->err.code)
        err_set(&s->err, -ERR_LIMIT, "%llu processes, and %u are the most",
                (unsigned long long)tasks, PMI_SPAWN_TASKS_MAX);
    if (s->err.code)
        return err_set(err, s->err.code, "%s", s->err.text);
    *out = s->request;
    return 0;
}
