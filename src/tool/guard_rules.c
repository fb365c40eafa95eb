#include "base/path.h"
#include "tool/guard_judge.h"

/* ---- options ---- */

static bool is_option(const GuardField *f) { return f->text.n > 1 && f->text.at[0] == '-'; }

static bool is(const GuardField *f, const char *text) { return str_eq(f->text, str_from(text)); }

/* A long option may be cut short: --rec is --recursive. */
static bool is_long(const GuardField *f, const char *name, size_t least) {
    Str s = f->text;
    ptrdiff_t equals = str_find_char(s, '=');
    if (equals >= 0) s.n = (size_t)equals;
    return s.n >= 2 + least && str_starts(s, STR("--")) && str_starts(str_from(name), str_sub(s, 2, s.n));
}

static bool has_letter(const GuardField *f, const char *letters) {
    if (!is_option(f) || f->text.at[1] == '-') return false;
    for (size_t i = 1; i < f->text.n; i++)
        if (strchr(letters, f->text.at[i])) return true;
    return false;
}

/* ---- removal ---- */

static void judge_rm(Guard *j, const GuardField *args, size_t n) {
    bool recursive = false, force = false, hidden = false;
    for (size_t i = 0; i < n && !is(&args[i], "--"); i++) {
        recursive |= has_letter(&args[i], "rR") || is_long(&args[i], "recursive", 1);
        force |= has_letter(&args[i], "f") || is_long(&args[i], "force", 1) || is(&args[i], "--interactive=never");
        hidden |= !args[i].exact && is_option(&args[i]);
    }
    if (recursive && force) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (rm -rf)");
    else if (hidden) guard_judge_raise(j, GUARD_CONFIRM, "an option of rm cannot be known before it runs");
}

static void judge_rimraf(Guard *j, const GuardField *args, size_t n) {
    (void)args;
    if (n) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (rimraf)");
}

/* ---- devices ---- */

static bool is_harmless_device(Str name) {
    static const char *const names[] = { "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "ptmx", "console", "fd", "log" };
    static const char *const prefixes[] = { "fd/", "pts/", "shm/", "mqueue/", "tcp/", "udp/", "ttyS", "ttyUSB", "ttyACM" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(name, str_from(names[i]))) return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts(name, str_from(prefixes[i]))) return true;
    return false;
}

void guard_rules_target(Guard *j, const GuardField *path, const char *how) {
    Str s = path->text;
    if (s.n == 0 || s.at[0] != '/') return;
    s = path_normal(j->arena, s);
    if (str_eq(s, STR("/proc/sysrq-trigger")))
        guard_judge_raise(j, GUARD_REFUSE, "%s writes to " STR_FMT ", which can end the machine's run", how, STR_ARG(s));
    if (!str_starts(s, STR("/dev/"))) return;
    Str name = str_sub(s, 5, s.n);
    if (is_harmless_device(name)) return;
    if (name.at[0] == GUARD_HOLE) guard_judge_raise(j, GUARD_CONFIRM, "%s writes to a device that cannot be known before it runs", how);
    else guard_judge_raise(j, GUARD_REFUSE, "%s writes to the device " STR_FMT, how, STR_ARG(s));
}

static void judge_dd(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!str_starts(args[i].text, STR("of="))) continue;
        GuardField f = args[i];
        f.text = str_sub(f.text, 3, f.text.n);
        guard_rules_target(j, &f, "dd");
    }
}

static void judge_tee(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++) guard_rules_target(j, &args[i], "the command");
}

/* Only the last path is written, or the one of -t. */
static void judge_cp(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        GuardField f = args[i];
        if (i + 1 == n || is(&f, "-t") || is(&f, "--target-directory")) guard_rules_target(j, i + 1 < n ? &args[i + 1] : &f, "the copy");
        if (is_long(&f, "target-directory", 1)) {
            f.text = str_sub(f.text, (size_t)(str_find_char(f.text, '=') + 1), f.text.n);
            guard_rules_target(j, &f, "the copy");
        }
    }
}

/* curl -o FILE, wget -O FILE, sort -o FILE: an option's file. */
static void judge_output_option(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        GuardField f = args[i];
        if (i + 1 < n && (has_letter(&f, "oO") || is_long(&f, "output", 3))) guard_rules_target(j, &args[i + 1], "the command");
        ptrdiff_t slash = is_option(&f) ? str_find_char(f.text, '/') : -1;
        if (slash < 0) continue;
        f.text = str_sub(f.text, (size_t)slash, f.text.n);
        guard_rules_target(j, &f, "the command");
    }
}

static void judge_partition(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has_letter(&args[i], "lhVsn") || is_long(&args[i], "list", 1) || is_long(&args[i], "help", 1) || is_long(&args[i], "version", 1)
            || is_long(&args[i], "print", 1) || is(&args[i], "print"))
            return;
    if (n) guard_judge_raise(j, GUARD_REFUSE, "the command changes a disk's partitions or marks");
}

/* ---- filesystems ---- */

static bool only_asks(const GuardField *args, size_t n) {
    return n == 1 && (is_long(&args[0], "help", 1) || is_long(&args[0], "version", 1) || is(&args[0], "-h") || is(&args[0], "-V"));
}

static void judge_mkfs(Guard *j, const GuardField *args, size_t n) {
    if (!only_asks(args, n)) guard_judge_raise(j, GUARD_REFUSE, "the command makes a filesystem");
}

static void judge_first_word(Guard *j, const GuardField *args, size_t n, const char *const *words, const char *why) {
    for (size_t i = 0; i < n; i++) {
        if (is_option(&args[i])) continue;
        for (; *words; words++)
            if (is(&args[i], *words)) guard_judge_raise(j, GUARD_REFUSE, "%s", why);
        return;
    }
}

static void judge_zpool(Guard *j, const GuardField *args, size_t n) {
    judge_first_word(j, args, n, (const char *const[]){ "create", "destroy", "labelclear", NULL }, "the command makes or removes a filesystem");
}

static void judge_cryptsetup(Guard *j, const GuardField *args, size_t n) {
    judge_first_word(j, args, n, (const char *const[]){ "luksFormat", "erase", "luksErase", "reencrypt", NULL }, "the command writes to a device");
}

static void judge_mdadm(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_long(&args[i], "create", 2) || is_long(&args[i], "zero-superblock", 2) || (i == 0 && has_letter(&args[i], "C")))
            guard_judge_raise(j, GUARD_REFUSE, "the command writes to a device");
}

/* ---- the machine's end ---- */

static const char ends_run[] = "the command shuts the machine down or restarts it";

static void judge_shutdown(Guard *j, const GuardField *args, size_t n) {
    if (only_asks(args, n) || (n && is(&args[0], "-c"))) return;
    guard_judge_raise(j, GUARD_REFUSE, "%s", ends_run);
}

static void judge_init(Guard *j, const GuardField *args, size_t n) {
    if (n && (is(&args[n - 1], "0") || is(&args[n - 1], "6"))) guard_judge_raise(j, GUARD_REFUSE, "%s", ends_run);
}

static void judge_systemctl(Guard *j, const GuardField *args, size_t n) {
    static const char *const verbs[] = { "poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep",
                                         "suspend-then-hibernate", "emergency", "rescue", "exit", "switch-root" };
    static const char *const targets[] = { "poweroff.target", "reboot.target", "halt.target", "shutdown.target", "kexec.target",
                                           "emergency.target", "rescue.target", "runlevel0.target", "runlevel6.target" };
    size_t verb = 0;
    while (verb < n && is_option(&args[verb]))
        verb += is(&args[verb], "-M") || is(&args[verb], "-H") || is(&args[verb], "-p") || is(&args[verb], "-t") || is(&args[verb], "-n") ? 2 : 1;
    if (verb >= n) return;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (is(&args[verb], verbs[i])) guard_judge_raise(j, GUARD_REFUSE, "%s", ends_run);
    if (!is(&args[verb], "start") && !is(&args[verb], "isolate")) return;
    for (size_t i = verb + 1; i < n; i++)
        for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
            if (is(&args[i], targets[k])) guard_judge_raise(j, GUARD_REFUSE, "%s", ends_run);
}

static void judge_bus(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_find(args[i].text, STR("PowerOff")) >= 0 || str_find(args[i].text, STR("Reboot")) >= 0 || str_find(args[i].text, STR("Halt")) >= 0)
            guard_judge_raise(j, GUARD_REFUSE, "%s", ends_run);
}

/* ---- others that run text ---- */

static void judge_tar(Guard *j, const GuardField *args, size_t n) {
    static const char *const options[] = { "--checkpoint-action=exec=", "--to-command=", "--use-compress-program=", "--rsh-command=", "--info-script=", "--new-volume-script=" };
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (str_starts(args[i].text, str_from(options[k]))) {
                GuardField f = args[i];
                f.text = str_sub(f.text, strlen(options[k]), f.text.n);
                guard_judge_script(j, &f, (GuardInput){ .kind = GUARD_INPUT_UNKNOWN });
            }
}

/* vim -c '!rm -rf x' */
static void judge_vim(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        GuardField f = args[i];
        ptrdiff_t bang = str_find_char(f.text, '!');
        if (bang < 0 || (f.text.at[0] != '+' && (i == 0 || !(is(&args[i - 1], "-c") || is(&args[i - 1], "--cmd"))))) continue;
        f.text = arena_str(j->arena, str_sub(f.text, (size_t)bang + 1, f.text.n));
        j->only_worst++;
        guard_judge_script(j, &f, (GuardInput){ .kind = GUARD_INPUT_NONE });
        j->only_worst--;
    }
}

static const struct { const char *name; GuardRule *rule; } rules[] = {
    { "rm", judge_rm }, { "rimraf", judge_rimraf }, { "dd", judge_dd }, { "dcfldd", judge_dd }, { "dc3dd", judge_dd }, { "tee", judge_tee },
    { "shred", judge_tee }, { "truncate", judge_tee }, { "sponge", judge_tee }, { "blkdiscard", judge_tee }, { "wipefs", judge_partition },
    { "fallocate", judge_tee }, { "cp", judge_cp }, { "mv", judge_cp }, { "install", judge_cp }, { "rsync", judge_cp }, { "ddrescue", judge_tee },
    { "curl", judge_output_option }, { "wget", judge_output_option }, { "sort", judge_output_option }, { "pv", judge_output_option },
    { "fdisk", judge_partition }, { "sfdisk", judge_partition }, { "cfdisk", judge_partition }, { "gdisk", judge_partition },
    { "sgdisk", judge_partition }, { "parted", judge_partition }, { "badblocks", judge_partition }, { "pvcreate", judge_mkfs },
    { "mkfs", judge_mkfs }, { "mke2fs", judge_mkfs }, { "mkdosfs", judge_mkfs }, { "mkntfs", judge_mkfs }, { "mkswap", judge_mkfs },
    { "mkreiserfs", judge_mkfs }, { "newfs", judge_mkfs }, { "zpool", judge_zpool }, { "cryptsetup", judge_cryptsetup }, { "mdadm", judge_mdadm },
    { "shutdown", judge_shutdown }, { "reboot", judge_shutdown }, { "halt", judge_shutdown }, { "poweroff", judge_shutdown },
    { "init", judge_init }, { "telinit", judge_init }, { "systemctl", judge_systemctl }, { "loginctl", judge_systemctl },
    { "dbus-send", judge_bus }, { "busctl", judge_bus }, { "gdbus", judge_bus }, { "git", guard_git }, { "tar", judge_tar }, { "bsdtar", judge_tar },
    { "vim", judge_vim }, { "vi", judge_vim }, { "nvim", judge_vim }, { "ex", judge_vim },
};

GuardRule *guard_rules_find(Str name) {
    if (str_starts(name, STR("mkfs."))) return judge_mkfs;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (str_eq(name, str_from(rules[i].name))) return rules[i].rule;
    return NULL;
}
