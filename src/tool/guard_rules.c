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

static bool has_char(Str s, const char *chars) {
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] && strchr(chars, s.at[i])) return true;
    return false;
}

static bool has_letter(const GuardField *f, const char *letters) {
    if (!is_option(f) || f->text.at[1] == '-') return false;
    for (size_t i = 1; i < f->text.n; i++)
        if (strchr(letters, f->text.at[i])) return true;
    return false;
}

/* ---- removal ---- */

/* A name below /dev that is moved away, replaced or removed: not what a device takes, the device itself. */
static void judge_name(Guard *j, const GuardField *path, const char *how) {
    Str s = path->text.n && path->text.at[0] == '/' ? path_normal(j->arena, path->text) : STR("");
    bool inside = str_starts(s, STR("/dev/")) && !str_starts(s, STR("/dev/shm/")) && !str_starts(s, STR("/dev/mqueue/"));
    if (str_eq(s, STR("/dev/shm")) || str_eq(s, STR("/dev/mqueue"))) return;
    if (str_eq(s, STR("/dev")) || inside) guard_judge_raise(j, GUARD_REFUSE, "%s the device " STR_FMT, how, STR_ARG(s));
}

static void judge_rm(Guard *j, const GuardField *args, size_t n) {
    bool recursive = false, force = false, hidden = false;
    for (size_t i = 0; i < n && !is(&args[i], "--"); i++) {
        recursive |= has_letter(&args[i], "rR") || is_long(&args[i], "recursive", 1);
        force |= has_letter(&args[i], "f") || is_long(&args[i], "force", 1) || is(&args[i], "--interactive=never");
        hidden |= !args[i].exact && is_option(&args[i]);
    }
    for (size_t i = 0; i < n; i++) judge_name(j, &args[i], "the command removes");
    if (recursive && force) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (rm -rf)");
    else if (hidden) guard_judge_raise(j, GUARD_CONFIRM, "an option of rm cannot be known before it runs");
}

static void judge_rimraf(Guard *j, const GuardField *args, size_t n) {
    (void)args;
    if (n) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (rimraf)");
}

/* ---- devices ---- */

static bool is_harmless_device(Str name) {
    static const char *const names[] = { "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "ptmx", "console", "fd", "log", "shm", "mqueue" };
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

static void judge_mv(Guard *j, const GuardField *args, size_t n) {
    size_t operands = 0;
    for (size_t i = 0; i < n; i++) operands += !is_option(&args[i]);
    if (operands < 2) return;
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || (i && is(&args[i - 1], "-t"))) judge_name(j, &args[i], "the command replaces");
    judge_cp(j, args, n);
}

/* --delete empties what the source does not have; an empty source, everything. -e runs its text. */
static void judge_rsync(Guard *j, const GuardField *args, size_t n) {
    bool dry = false, removes = false;
    for (size_t i = 0; i < n; i++) {
        dry |= has_letter(&args[i], "n") || is_long(&args[i], "dry-run", 1);
        removes |= str_starts(args[i].text, STR("--del"));
        bool text = is(&args[i], "-e") || is(&args[i], "--rsh"), same = str_starts(args[i].text, STR("--rsh="));
        if (!same && !(text && i + 1 < n)) continue;
        GuardField f = same ? args[i] : args[i + 1];
        if (same) f.text = arena_str(j->arena, str_sub(f.text, 6, f.text.n));
        j->only_worst++;
        guard_judge_script(j, &f, (GuardInput){ .kind = GUARD_INPUT_NONE });
        j->only_worst--;
    }
    if (removes && !dry) guard_judge_raise(j, GUARD_CONFIRM, "rsync --delete removes all that its source does not have");
    judge_cp(j, args, n);
}

static void judge_qemu_img(Guard *j, const GuardField *args, size_t n) {
    if (n && (is(&args[0], "info") || is(&args[0], "check") || is(&args[0], "map") || is(&args[0], "compare") || is(&args[0], "measure"))) return;
    judge_dd(j, args, n);
    judge_cp(j, args, n);
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

static const char marks[] = "the command changes a disk's partitions or marks";

/* `letters`: options that only show. */
static void judge_disk(Guard *j, const GuardField *args, size_t n, const char *letters) {
    for (size_t i = 0; i < n; i++)
        if (has_letter(&args[i], letters) || is_long(&args[i], "list", 1) || is_long(&args[i], "help", 1) || is_long(&args[i], "version", 1)
            || is_long(&args[i], "print", 1) || is_long(&args[i], "info", 1) || is_long(&args[i], "pretend", 2) || is_long(&args[i], "no-act", 2) || is(&args[i], "print"))
            return;
    if (n) guard_judge_raise(j, GUARD_REFUSE, "%s", marks);
}

static void judge_fdisk(Guard *j, const GuardField *args, size_t n) { judge_disk(j, args, n, "lshV"); }
static void judge_sfdisk(Guard *j, const GuardField *args, size_t n) { judge_disk(j, args, n, "ldJsnVhTF"); }
static void judge_sgdisk(Guard *j, const GuardField *args, size_t n) { judge_disk(j, args, n, "pivVLP"); }
static void judge_parted(Guard *j, const GuardField *args, size_t n) { judge_disk(j, args, n, "lhv"); }

static void judge_wipefs(Guard *j, const GuardField *args, size_t n) {
    bool marked = false;
    for (size_t i = 0; i < n; i++) {
        if (has_letter(&args[i], "n") || is_long(&args[i], "no-act", 1)) return;
        marked |= has_letter(&args[i], "ao") || is_long(&args[i], "all", 1) || is_long(&args[i], "offset", 1);
    }
    if (marked) guard_judge_raise(j, GUARD_REFUSE, "%s", marks);
}

static void judge_badblocks(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has_letter(&args[i], "w")) guard_judge_raise(j, GUARD_REFUSE, "the command writes to a device");
}

static void judge_hdparm(Guard *j, const GuardField *args, size_t n) {
    static const char *const options[] = { "--security-erase", "--trim-sector", "--write-sector", "--repair-sector", "--make-bad", "--sanitize", "--dco-restore", "--fwdownload" };
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (str_starts(args[i].text, str_from(options[k]))) guard_judge_raise(j, GUARD_REFUSE, "the command writes to a device");
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

static void judge_zfs(Guard *j, const GuardField *args, size_t n) {
    judge_first_word(j, args, n, (const char *const[]){ "destroy", "rollback", NULL }, "the command removes a filesystem");
}

static void judge_nvme(Guard *j, const GuardField *args, size_t n) {
    judge_first_word(j, args, n, (const char *const[]){ "format", "sanitize", "write", "write-zeroes", "delete-ns", "dsm", NULL }, "the command writes to a device");
}

static void judge_volume(Guard *j, const GuardField *args, size_t n) {
    if (n && !only_asks(args, n)) guard_judge_raise(j, GUARD_REFUSE, "the command removes a volume");
}

static void judge_debugfs(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has_letter(&args[i], "w")) guard_judge_raise(j, GUARD_REFUSE, "the command writes to a device");
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

/* Process 1 is the machine's; -1 is every process. The last option before it may be a signal. */
static void judge_kill(Guard *j, const GuardField *args, size_t n) {
    bool signal = false;
    for (size_t i = 0; i < n; i++) {
        if (is(&args[i], "-l") || is(&args[i], "-L") || is(&args[i], "-0")) return;
        bool all = is(&args[i], "-1") && (signal || (i && is(&args[i - 1], "--")));
        if (is(&args[i], "1") || all) guard_judge_raise(j, GUARD_REFUSE, "the command ends every process, or the first one");
        signal |= is_option(&args[i]) && !is(&args[i], "--");
        if (is(&args[i], "-s") || is(&args[i], "-n")) i++;
    }
}

static void judge_rtcwake(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i + 1 < n; i++)
        if ((is(&args[i], "-m") || is(&args[i], "--mode")) && !is(&args[i + 1], "no") && !is(&args[i + 1], "show") && !is(&args[i + 1], "on") && !is(&args[i + 1], "disable"))
            guard_judge_raise(j, GUARD_REFUSE, "%s", ends_run);
}

static void judge_kexec(Guard *j, const GuardField *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has_letter(&args[i], "e") || is_long(&args[i], "exec", 1) || is_long(&args[i], "force", 1)) guard_judge_raise(j, GUARD_REFUSE, "%s", ends_run);
}

/* ---- others that run text ---- */

static void judge_later(Guard *j, GuardField f, size_t from) {
    f.text = arena_str(j->arena, str_sub(f.text, from, f.text.n));
    guard_judge_script(j, &f, (GuardInput){ .kind = GUARD_INPUT_UNKNOWN });
}

static void judge_tar(Guard *j, const GuardField *args, size_t n) {
    static const char *const options[] = { "--checkpoint-action=exec=", "--to-command=", "--use-compress-program=", "--rsh-command=", "--info-script=", "--new-volume-script=" };
    bool makes = false;
    for (size_t i = 0; i < n; i++) {
        const GuardField *next = i + 1 < n ? &args[i + 1] : NULL;
        bool letters = (i == 0 || is_option(&args[i])) && !str_starts(args[i].text, STR("--"));
        makes |= (letters && has_char(args[i].text, "cruA")) || is(&args[i], "--create");
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (str_starts(args[i].text, str_from(options[k]))) judge_later(j, args[i], strlen(options[k]));
        if (next && (is(&args[i], "--to-command") || is(&args[i], "--use-compress-program") || is(&args[i], "-I"))) judge_later(j, *next, 0);
        if (next && makes && ((letters && str_find_char(args[i].text, 'f') >= 0) || is(&args[i], "--file"))) guard_rules_target(j, next, "tar");
        if (is(&args[i], "--remove-files")) guard_judge_raise(j, GUARD_REFUSE, "recursive forced removal (tar --remove-files)");
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
    { "rm", judge_rm }, { "grm", judge_rm }, { "srm", judge_rm }, { "rimraf", judge_rimraf }, { "dd", judge_dd }, { "dcfldd", judge_dd }, { "dc3dd", judge_dd }, { "tee", judge_tee },
    { "shred", judge_tee }, { "truncate", judge_tee }, { "sponge", judge_tee }, { "blkdiscard", judge_tee }, { "wipefs", judge_wipefs },
    { "fallocate", judge_tee }, { "cp", judge_cp }, { "mv", judge_mv }, { "ln", judge_mv }, { "install", judge_cp }, { "rsync", judge_rsync }, { "qemu-img", judge_qemu_img }, { "grub-install", judge_tee }, { "ddrescue", judge_tee },
    { "curl", judge_output_option }, { "wget", judge_output_option }, { "sort", judge_output_option }, { "pv", judge_output_option }, { "mkisofs", judge_output_option },
    { "genisoimage", judge_output_option }, { "xorriso", judge_output_option }, { "cpio", judge_output_option },
    { "fdisk", judge_fdisk }, { "sfdisk", judge_sfdisk }, { "cfdisk", judge_fdisk }, { "gdisk", judge_fdisk }, { "hdparm", judge_hdparm }, { "nvme", judge_nvme },
    { "sgdisk", judge_sgdisk }, { "parted", judge_parted }, { "badblocks", judge_badblocks }, { "pvcreate", judge_mkfs }, { "zfs", judge_zfs }, { "debugfs", judge_debugfs },
    { "pvremove", judge_volume }, { "vgremove", judge_volume }, { "lvremove", judge_volume },
    { "mkfs", judge_mkfs }, { "mke2fs", judge_mkfs }, { "mkdosfs", judge_mkfs }, { "mkntfs", judge_mkfs }, { "mkswap", judge_mkfs },
    { "mkreiserfs", judge_mkfs }, { "newfs", judge_mkfs }, { "zpool", judge_zpool }, { "cryptsetup", judge_cryptsetup }, { "mdadm", judge_mdadm },
    { "shutdown", judge_shutdown }, { "reboot", judge_shutdown }, { "halt", judge_shutdown }, { "poweroff", judge_shutdown },
    { "init", judge_init }, { "telinit", judge_init }, { "systemctl", judge_systemctl }, { "loginctl", judge_systemctl },
    { "kill", judge_kill }, { "rtcwake", judge_rtcwake }, { "kexec", judge_kexec }, { "pm-suspend", judge_shutdown }, { "pm-hibernate", judge_shutdown },
    { "zzz", judge_shutdown }, { "runit-init", judge_init }, { "openrc-shutdown", judge_shutdown }, { "qdbus", judge_bus },
    { "dbus-send", judge_bus }, { "busctl", judge_bus }, { "gdbus", judge_bus }, { "git", guard_git }, { "hub", guard_git }, { "tar", judge_tar }, { "bsdtar", judge_tar },
    { "vim", judge_vim }, { "vi", judge_vim }, { "nvim", judge_vim }, { "ex", judge_vim },
};

GuardRule *guard_rules_find(Str name) {
    if (str_starts(name, STR("mkfs."))) return judge_mkfs;
    if (str_starts(name, STR("rimraf@"))) return judge_rimraf;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (str_eq(name, str_from(rules[i].name))) return rules[i].rule;
    return NULL;
}
