/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * There is no lock: levels are atomic, a reopened file replaces the old descriptor by dup3(), and
 * a line is one write() of a private buffer. A child of fork() may therefore log, and a writer
 * never waits for another.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/words.h"

#define LINE_MAX_BYTES 4096
#define SYSLOG_PATH "/dev/log"

static struct {
    char program[64];
    atomic_int file_fd;
    atomic_int sched_fd;
    atomic_int syslog_fd;
    atomic_int file_level, stderr_level, syslog_level;
    atomic_bool journal; /* stderr is systemd's journal */
    atomic_int time;     /* enum log_time */
    atomic_int sink_level;
    void (*_Atomic sink)(enum log_level level, const char *room, const char *text);
} sinks = {
    .file_fd = -1,
    .sched_fd = -1,
    .syslog_fd = -1,
    .file_level = LOG_LVL_QUIET,
    .stderr_level = LOG_LVL_INFO,
    .syslog_level = LOG_LVL_QUIET,
};

static const struct {
    const char *word;   /* word in slurm.conf */
    const char *prefix; /* prefix of a line's text */
    int priority;
} levels[] = {
    [LOG_LVL_QUIET] = {"quiet", "", LOG_CRIT},
    [LOG_LVL_FATAL] = {"fatal", "fatal: ", LOG_CRIT},
    [LOG_LVL_ERROR] = {"error", "error: ", LOG_ERR},
    [LOG_LVL_INFO] = {"info", "", LOG_INFO},
    [LOG_LVL_VERBOSE] = {"verbose", "", LOG_INFO},
    [LOG_LVL_DEBUG] = {"debug", "debug:  ", LOG_DEBUG},
    [LOG_LVL_DEBUG2] = {"debug2", "debug2: ", LOG_DEBUG},
    [LOG_LVL_DEBUG3] = {"debug3", "debug3: ", LOG_DEBUG},
};

/* Replaces the descriptor in *slot by fd, or by none; a concurrent writer uses either the old or
   the new one. */
static void replace_fd(atomic_int *slot, int fd)
{
    int old = atomic_load(slot);
    if (old >= 0 && fd >= 0) {
        dup3(fd, old, O_CLOEXEC);
        close(fd);
    } else {
        atomic_store(slot, fd);
        if (old >= 0)
            close(old);
    }
}

/* A private connection, because syslog(3) waits without limit if the receiver is slow. */
static int syslog_connect(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = SYSLOG_PATH};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Whether stderr is connected to systemd's journal: see systemd.exec(5). */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* Returns 0 with the descriptor (-1: there is no file), or -errno. */
static int open_file(const char *file, int *fd)
{
    *fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600) : -1;
    return file && *fd < 0 ? -errno : 0;
}

int log_open_sched(const char *file)
{
    int fd, rc = open_file(file, &fd);
    if (rc == 0)
        replace_fd(&sinks.sched_fd, fd);
    return rc;
}

bool log_has_sched(void)
{
    return atomic_load(&sinks.sched_fd) >= 0;
}

int log_open(const struct log_options *options)
{
    int fd, rc = open_file(options->file, &fd);
    if (rc)
        return rc;
    atomic_store(&sinks.time, (int)options->time);
    snprintf(sinks.program, sizeof(sinks.program), "%s", options->program ? options->program : "");
    replace_fd(&sinks.file_fd, fd);
    replace_fd(&sinks.syslog_fd, options->syslog_level > LOG_LVL_QUIET ? syslog_connect() : -1);
    atomic_store(&sinks.file_level, (int)(options->file ? options->file_level : LOG_LVL_QUIET));
    atomic_store(&sinks.journal, is_journal());
    atomic_store(&sinks.stderr_level, options->stderr_level);
    atomic_store(&sinks.syslog_level, options->syslog_level);
    atomic_store(&sinks.sink, options->sink);
    atomic_store(&sinks.sink_level, (int)(options->sink ? options->sink_level : LOG_LVL_QUIET));
    return 0;
}

void log_close(void)
{
    atomic_store(&sinks.file_level, LOG_LVL_QUIET);
    atomic_store(&sinks.sink_level, LOG_LVL_QUIET);
    atomic_store(&sinks.syslog_level, LOG_LVL_QUIET);
    replace_fd(&sinks.file_fd, -1);
    replace_fd(&sinks.sched_fd, -1);
    replace_fd(&sinks.syslog_fd, -1);
}

void log_set_stderr(enum log_level level)
{
    atomic_store(&sinks.stderr_level, level);
}

enum log_level log_syslog_level(uint32_t given, bool file, bool foreground, enum log_level level)
{
    if (given != LOG_LVL_UNSET)
        return (enum log_level)given;
    if (foreground)
        return LOG_LVL_QUIET;
    return file || level == LOG_LVL_QUIET ? LOG_LVL_FATAL : level;
}

int log_parse_level(const char *word)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (str_case_eq(word, levels[i].word))
            return (int)i;
    long long number;
    if (str_case_eq(word, "debug4") || str_case_eq(word, "debug5"))
        return LOG_LVL_DEBUG3;
    if (str_parse_i64(word, 0, 9, &number) == 0)
        return number > LOG_LVL_DEBUG3 ? LOG_LVL_DEBUG3 : (int)number;
    return -1;
}

bool log_wants(enum log_level level)
{
    int wanted = (int)level;
    return wanted > LOG_LVL_QUIET &&
           (wanted <= atomic_load_explicit(&sinks.file_level, memory_order_relaxed) ||
            wanted <= atomic_load_explicit(&sinks.sink_level, memory_order_relaxed) ||
            wanted <= atomic_load_explicit(&sinks.stderr_level, memory_order_relaxed) ||
            wanted <= atomic_load_explicit(&sinks.syslog_level, memory_order_relaxed));
}

/* Writes 'head' + 'text' + newline with one system call. A failure cannot be reported anywhere. */
static void write_line(int fd, const char *head, const char *text)
{
    char line[LINE_MAX_BYTES + 256];
    int len = snprintf(line, sizeof(line), "%s%s\n", head, text);
    if (len >= (int)sizeof(line)) {
        len = sizeof(line) - 1;
        line[len - 1] = '\n';
    }
    ssize_t n;
    do
        n = write(fd, line, (size_t)len);
    while (n < 0 && errno == EINTR);
}

/* LogTimeFormat: the strftime() format, whether milliseconds follow, and the text after them. */
static const struct {
    const char *word, *form;
    bool ms;
    const char *behind;
} times[] = {
    [LOG_TIME_ISO8601_MS] = {"iso8601_ms", "%Y-%m-%dT%H:%M:%S", true, ""},
    [LOG_TIME_ISO8601] = {"iso8601", "%Y-%m-%dT%H:%M:%S", false, ""},
    [LOG_TIME_RFC5424_MS] = {"rfc5424_ms", "%Y-%m-%dT%H:%M:%S", true, "%z"},
    [LOG_TIME_RFC5424] = {"rfc5424", "%Y-%m-%dT%H:%M:%S", false, "%z"},
    [LOG_TIME_RFC3339] = {"rfc3339", "%Y-%m-%dT%H:%M:%S", false, "%z"},
    [LOG_TIME_CLOCK] = {"clock", "", false, ""},
    [LOG_TIME_SHORT] = {"short", "%b %d %T", false, ""},
    [LOG_TIME_THREAD_ID] = {"thread_id", "%b %d %T", false, ""},
};

enum log_time log_parse_time(const char *words)
{
    enum log_time found = LOG_TIME_ISO8601_MS;
    words_foreach (words, w) {
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
            if (word_case_eq(w, times[i].word))
                found = (enum log_time)i;
    }
    return found;
}

/* Formats "+0100" as "+01:00", for which strftime() has no format. */
static void put_zone(char *out, size_t room, const char *form, const struct tm *tm)
{
    char zone[16] = "";
    strftime(zone, sizeof(zone), form, tm);
    size_t len = strlen(zone);
    if (len == 5)
        snprintf(out, room, "%.3s:%.2s", zone, zone + 3);
    else
        snprintf(out, room, "%s", zone);
}

static void format_head(enum log_time how, char *head, size_t room)
{
    struct timespec now;
    struct tm tm;
    char stamp[32], ms[24] = "", zone[24] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (!localtime_r(&now.tv_sec, &tm))
        memset(&tm, 0, sizeof(tm));
    strftime(stamp, sizeof(stamp), times[how].form, &tm);
    if (times[how].ms)
        snprintf(ms, sizeof(ms), ".%03ld", now.tv_nsec / 1000000);
    if (*times[how].behind)
        put_zone(zone, sizeof(zone), times[how].behind, &tm);
    if (how == LOG_TIME_CLOCK)
        snprintf(head, room, "[%ld] ", (long)(clock() * (1000000 / CLOCKS_PER_SEC)));
    else if (how == LOG_TIME_THREAD_ID)
        snprintf(head, room, "[%s.%06ld] %d %s(%d) ", stamp, now.tv_nsec / 1000, (int)getpid(),
                 sinks.program, (int)gettid());
    else
        snprintf(head, room, "[%s%s%s] ", stamp, ms, zone);
}

static void write_file(int fd, const char *text)
{
    char head[128];
    format_head((enum log_time)atomic_load(&sinks.time), head, sizeof(head));
    write_line(fd, head, text);
}

/* The journal knows the program, and reads the severity at the start of the line. */
static void write_stderr(int priority, const char *text)
{
    char head[80];

    if (atomic_load(&sinks.journal))
        snprintf(head, sizeof(head), "<%d>", priority);
    else
        snprintf(head, sizeof(head),
                 "%s: ", sinks.program[0] ? sinks.program : program_invocation_short_name);
    write_line(STDERR_FILENO, head, text);
}

static void write_syslog(int fd, int priority, const char *text)
{
    char line[LINE_MAX_BYTES + 128], stamp[32];
    time_t now = time(NULL);
    struct tm tm;
    if (!localtime_r(&now, &tm))
        memset(&tm, 0, sizeof(tm));
    strftime(stamp, sizeof(stamp), "%b %e %H:%M:%S", &tm);
    int len = snprintf(line, sizeof(line), "<%d>%s %s[%d]: %s", LOG_DAEMON | priority, stamp,
                       sinks.program, (int)getpid(), text);
    if (len >= (int)sizeof(line))
        len = sizeof(line) - 1;
    if (send(fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return;
    /* A restarted receiver has a new socket; a slow receiver loses the line rather than block
       us. */
    if (errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET) {
        struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = SYSLOG_PATH};
        if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
            send(fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void log_write(enum log_level level, const char *room, const char *fmt, ...)
{
    if (!log_wants(level) || (size_t)level >= sizeof(levels) / sizeof(levels[0]))
        return;
    int saved = errno;
    char text[LINE_MAX_BYTES];
    if (room && str_eq(room, sinks.program)) /* the program's name occurs only once in a line */
        room = NULL;
    int len = snprintf(text, sizeof(text), "%s%s%s", levels[level].prefix, room ? room : "",
                       room ? ": " : "");
    if (len < 0 || (size_t)len >= sizeof(text))
        len = 0;
    va_list ap;
    va_start(ap, fmt);
    errno = saved; /* for %m */
    vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
    va_end(ap);
    text_blank(text);

    int file_fd = atomic_load(&sinks.file_fd), syslog_fd = atomic_load(&sinks.syslog_fd);
    if ((int)level <= atomic_load(&sinks.file_level) && file_fd >= 0)
        write_file(file_fd, text);
    if ((int)level <= atomic_load(&sinks.stderr_level))
        write_stderr(levels[level].priority, text);
    if ((int)level <= atomic_load(&sinks.syslog_level) && syslog_fd >= 0)
        write_syslog(syslog_fd, levels[level].priority, text);
    void (*sink)(enum log_level, const char *, const char *) = atomic_load(&sinks.sink);
    if (sink && (int)level <= atomic_load(&sinks.sink_level))
        sink(level, room, text + len);
    errno = saved;
}

void log_write_sched(const char *text)
{
    int fd = atomic_load(&sinks.sched_fd);
    _cleanup_free_ char *line = mem_strdup(text);
    text_blank(line);
    if (fd >= 0)
        write_file(fd, line);
}

static long this_minute(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec / 60;
}

bool log_allow(struct log_limit *limit)
{
    long minute = this_minute();
    if (minute != limit->minute) {
        if (limit->count > limit->burst)
            log_write(LOG_LVL_INFO, "log", "%u similar lines left out",
                      limit->count - limit->burst);
        limit->minute = minute;
        limit->count = 0;
    }
    return ++limit->count <= limit->burst;
}

static struct log_left_out begin_minute(struct log_limits *limits, long minute)
{
    struct log_left_out out = {0};
    for (unsigned i = 0; i < limits->len; i++) {
        unsigned count = limits->of[i].count;
        out.lines += count > limits->burst ? count - limits->burst : 0;
        out.sources += count > limits->burst;
    }
    limits->minute = minute;
    limits->len = 0;
    return out;
}

bool log_limits_allow(struct log_limits *limits, uint64_t source, long minute,
                      struct log_left_out *out)
{
    unsigned i = 0;
    *out = (struct log_left_out){0};
    if (minute != limits->minute)
        *out = begin_minute(limits, minute);
    while (i < limits->len && i < LOG_SOURCES && limits->of[i].source != source)
        i++;
    if (i == limits->len) {
        limits->of[i] = (struct log_source_count){.source = source};
        limits->len++;
    }
    return ++limits->of[i].count <= limits->burst;
}

bool log_allow_source(struct log_limits *limits, uint64_t source)
{
    struct log_left_out out;
    bool allowed = log_limits_allow(limits, source, this_minute(), &out);
    if (out.lines)
        log_write(LOG_LVL_INFO, "log", "%u similar lines left out, which have %u source%s",
                  out.lines, out.sources, out.sources == 1 ? "" : "s");
    return allowed;
}

uint64_t log_source(const char *peer)
{
    const char *port = strrchr(peer, ':');
    size_t len = port ? (size_t)(port - peer) : strlen(peer);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)peer[i]) * 0x100000001b3u;
    return hash;
}
