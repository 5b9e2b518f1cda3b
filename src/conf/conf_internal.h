/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to src/conf: converts text to a struct conf. The stages, one file each:
 *   conf_lines   files -> logical lines (comments, continuations, Include)
 *   conf_scalar  pairs -> the text of each row of conf.def, then typed members
 *   conf_row     a line -> Key=Value pairs, and for NodeName, PartitionName... DEFAULT applied
 *   conf_node, conf_geometry, conf_part   rows -> nodes and partitions
 *   conf_check   consistency of several keys (hosts, users, plugins, ports)
 * Strings point into the file's buffer, which lives as long as the configuration.
 */
#pragma once

#include "base/arena.h"
#include "base/hostlist.h"
#include "conf/conf.h"
#include "conf/conf_find.h"
#include "conf/conf_keys.h"

#define CONF_FILE_MAX (64u << 20) /* bytes of all files */
#define CONF_LINE_MAX (1u << 20)  /* bytes of a line, including continuations */
#define CONF_DEPTH_MAX 16         /* nested Include files */
#define CONF_FILES_MAX 4096       /* total number of files */
#define CONF_IGNORED_KINDS 2      /* kinds of lines */

/* A position in a file, for messages; the file name lives as long as the configuration. */
struct conf_place {
    const char *file;
    int line;
    int column; /* 0: the whole line */
};

/* A value as written; text NULL: not given. */
struct conf_value {
    const char *text;
    struct conf_place at;
    bool inherited; /* from a DEFAULT line */
};

/* One line of a kind, its pairs in the order of the kind's keys, with DEFAULT lines applied. */
struct conf_row {
    struct conf_place at;
    struct conf_value *value; /* in the loader's scratch arena; one per key of the kind */
};

struct conf_rows {
    const struct conf_kind *kind;
    struct conf_value *defaults; /* in the scratch arena; NULL before the first DEFAULT line */
    /* In the scratch arena; per key, so that a warning is given once. */
    bool *warned;
    VEC(struct conf_row) row;
};

struct conf_private {
    struct arena arena;
    struct arena units_arena;             /* names of units that nodes have added to networks */
    VEC(char *) buffers;                  /* text of the files */
    VEC(const char *) files;              /* names of the files */
    struct conf_value written[CONF_KEYS]; /* values in the file; text NULL: the default applies */
    struct conf_index node_index, part_index;
    struct str flat;                                /* see conf_flat_text() */
    struct str extra[CONF_EXTRA_FILES];             /* see conf_extra_file() */
    const char *slurm_user_name, *slurmd_user_name; /* as in the user database */
};

/* The state of a load. */
struct conf_loader {
    struct conf *conf;
    struct conf_private *priv; /* equal to conf's */
    struct arena scratch;      /* for data needed only during the load: the rows as written */
    enum conf_scope scope;
    const char *added_lines; /* file name of the additional lines; NULL: none */
    bool no_include;         /* Include lines are errors (a text from memory) */
    bool bad_topo;           /* the topology file is unreadable, which was reported */
    struct err first;        /* the first error in the report, with report->every_error */
    struct conf_report *report;
#define CONF_ROWS(member, kind, on_nodes) struct conf_rows member;
#include "conf/conf_file.def"
    /* Prepended to each line of the file being read, to mark its kind; or NULL. */
    const char *prefix;
    VEC(struct conf_value) hosts;                  /* SlurmctldHost lines */
    struct conf_value control[2], control_addr[2]; /* keys of earlier releases */
    bool ignored_warned[CONF_IGNORED_KINDS];
    size_t bytes, files;
    struct {
        uint64_t device, inode;
    } open_files[CONF_DEPTH_MAX]; /* stack of files being read, outermost first */
    int depth;
};

/* Sets err to "FILE:LINE: text" or "FILE:LINE:COLUMN: text", and returns -ERR_CONFIG. */
int conf_fail(struct conf_place at, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void conf_warn(struct conf_loader *l, struct conf_place at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A warning that also makes a check of the file fail. */
void conf_fault(struct conf_loader *l, struct conf_place at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* With report->every_error: records the error and returns 1, so that the next item is read. */
int conf_go_on(struct conf_loader *l, int rc, struct err *err);
/* Reads SchedulerParameters; -ERR_CONFIG: an invalid value. */
int conf_sched_read(struct conf_loader *l, const char *list, struct conf_place at,
                    struct conf_sched *out, struct err *err);
void conf_warn_no_effect(struct conf_loader *l, struct conf_place at, const char *key,
                         const char *of);

/* Reads a file with its Include files and passes each line to conf_load_line(). */
int conf_lines_read(struct conf_loader *l, const char *path, struct err *err);
int conf_lines_text(struct conf_loader *l, char *text, size_t len, const char *file,
                    struct err *err); /* modifies text, which must outlive l->conf */

/* Handles one logical line without comments, not blank; conf_lines_take: a line of another
   text. */
int conf_lines_take(struct conf_loader *l, char *line, struct conf_place at, struct err *err);
int conf_load_line(struct conf_loader *l, char *line, struct conf_place at, struct err *err);

/* Keeps the line for conf_flat_text(); whether that is needed is known at the end only. */
void conf_flat_line(struct conf_loader *l, const char *line, size_t len);
void conf_flat_finish(struct conf_loader *l);

/* Parses the next Key=Value of a line, both terminated in place. 1: found, 0: end of line. In a
 * row, "Key= Next=..." means that Key is empty; elsewhere blanks after '=' are skipped. */
int conf_token_next(char **cursor, bool row, struct conf_place at, char **key, char **value,
                    struct err *err);

/* Parses the text of a key into its member of *base. Strings are borrowed; "" becomes NULL. */
int conf_value_parse(const struct conf_key *key, const struct conf_value *value, void *base,
                     struct err *err);
void conf_value_defaults(const struct conf_key *keys, size_t count, void *base);
bool conf_value_equal(const struct conf_key *key, const void *a, const void *b);
/* Formats the member in canonical form, without units, so that equal values have equal texts. */
void conf_value_text(const struct conf_key *key, const void *base, struct str *out);

/* Returns the index of a key by its case-insensitive name, or -1. conf_key_near: returns a similar
 * name with a smaller distance than *distance, which it updates, or NULL. */
#define CONF_NEAR 4
long conf_key_find(const struct conf_key *keys, size_t count, const char *name);
const char *conf_key_near(const struct conf_key *keys, size_t count, const char *name,
                          unsigned *distance);

/* Takes a Key=Value pair outside of rows; conf_scalar_finish() converts them all. */
void conf_scalar_take(struct conf_loader *l, const char *key, const char *value,
                      struct conf_place at);
int conf_scalar_finish(struct conf_loader *l, struct err *err);

/* Keys whose values are plugin names: unknown names fall back to the default with a warning. */
bool conf_plugin_is(size_t key); /* whether it is such a key */
void conf_plugin_check(struct conf_loader *l);

/* Takes a whole line of that kind. */
int conf_row_take(struct conf_loader *l, struct conf_rows *rows, char *line, struct conf_place at,
                  struct err *err);

#define CONF_READ(name)                                                                            \
    int conf_##name##_read(struct conf_loader *l, const char *path, struct err *err);
#define CONF_BUILD(name) int conf_##name(struct conf_loader *l, struct err *err);
#define CONF_DIFF(name)                                                                            \
    void conf_##name(const struct conf *from, const struct conf *to, struct str *out);
#define CONF_SUMMARY(name) void conf_##name(const struct conf *c, struct str *out);
#include "conf/conf_file.def"
/* Prints "what KEY: old -> new" if they differ. */
void conf_text_diff(const char *what, const char *key, const char *from, const char *to,
                    struct str *out);
/* For CONF_NODE. */
int conf_node_pick(struct conf_loader *l, const char *node_name, struct err *err);

const char *conf_node_state_text(enum conf_node_state state);

/* Derives CPUs, boards, sockets, cores and threads of a row from the given ones. */
int conf_geometry_derive(const struct conf_row *row, struct conf_node_row *out, struct err *err);

const char *conf_part_state_text(enum conf_part_state state);
const char *conf_part_share_text(enum conf_oversubscribe share);

/* Checks keys and lists whose values come from a fixed set of words. */
int conf_tres_check(struct conf_loader *l, struct err *err);
int conf_tres_check_billing(const char *text, struct conf_place at, struct err *err);
/* Warns of resources that TRESBillingWeights of a partition names and no job can have. */
int conf_billing_check(struct conf_loader *l, struct err *err);
int conf_preempt_check(struct conf_loader *l, struct err *err);
/* Checks PreemptMode of a partition. */
int conf_preempt_part_check(struct conf_loader *l, const struct conf_value *v, const char *part,
                            struct err *err);
int conf_auth_check(struct conf_loader *l, struct err *err);
int conf_words_check(struct conf_loader *l, struct err *err);
extern const char conf_preempt_words[]; /* of PreemptMode, separated by blanks */
/* Checks CpuBind of a line. */
int conf_cpu_bind_check(const struct conf_value *v, const char *of, struct err *err);
/* Parses DefCpuPerGPU and DefMemPerGPU in JobDefaults; -ERR_CONFIG. */
int conf_job_defaults_parse(const char *list, struct conf_place at, uint32_t *cpus,
                            uint64_t *mem_mib, struct err *err);
/* Returns the CONF_CR_* bits of a list, or -ERR_CONFIG; conf_cr_warn() warns of words without
   effect. */
void conf_cr_warn(struct conf_loader *l, const char *list, struct conf_place at);
int conf_cr_parse(const char *list, struct conf_place at, struct err *err);
/* Checks hosts, users, ports, select and sockets: everything that depends on scalars only. */
int conf_check(struct conf_loader *l, struct err *err);
