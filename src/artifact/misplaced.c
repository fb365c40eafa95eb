#include "artifact/misplaced.h"
#include "value/list.h"
#include "value/yaml.h"

static const Str events[] = {
#define HOOK_EVENT(id, name, decisions, changes, failure) { name, sizeof(name) - 1 },
#define HOOK_FAMILY(id, name, decisions, changes, failure)
#include "artifact/hook_events.def"
#undef HOOK_EVENT
#undef HOOK_FAMILY
};

static bool names_event(Str text) {
    text = str_trim(text);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (field_same(text, events[i])) return true;
    return false;
}

/* ---- maps ---- */

static Str key_of(const Entry *e) { return value_is_string(e->key) ? value_str(e->key) : STR(""); }
static Str text_of(const Entry *e) { return value_is_string(e->value) ? value_str(e->value) : STR(""); }

/* `evnt` and `events` too; longer distances reach words such as "agent". */
static bool is_event_key(Str key) { return field_same(key, STR("event")) || str_within(key, STR("event"), 1); }

static bool has_code(Value map) {
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);)
        if (field_same(key_of(e), STR("script")) || field_same(key_of(e), STR("command"))) return true;
    return false;
}

/* Only at the beginning of a line: a tool's script may contain the text of a hook in a string, for meta.hook_register. */
static bool defines_handle(Str script) {
    for (Str line; str_next_line(&script, &line);)
        if (str_starts(line, STR("def handle("))) return true;
    return false;
}

/* `any_event` also makes a near miss of `event` enough if its value names an event. */
static bool is_hook_entry(Value map, const Entry *e, bool any_event) {
    Str key = key_of(e), text = text_of(e);
    if (field_same(key, STR("event")) && (any_event || has_code(map))) return true;
    if (is_event_key(key) && (names_event(text) || has_code(map))) return true;
    if (names_event(text) && str_find_char(text, '.') > 0) return true;
    return field_same(key, STR("script")) && defines_handle(text);
}

bool misplaced_hook(Value map, bool any_event, Str *key) {
    Entry *e;
    if (!value_is_dict(map)) return false;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);) {
        if (!is_hook_entry(map, e, any_event)) continue;
        *key = key_of(e);
        return true;
    }
    return false;
}

/* ---- files of data ---- */

/* A hook of a space: {"type": "pre_tool", "command": …}. */
static bool is_space_hook(Value map) {
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);)
        if (field_same(key_of(e), STR("type")) && (field_same(text_of(e), STR("pre_tool")) || field_same(text_of(e), STR("post_tool")))) return has_code(map);
    return false;
}

static bool has_key(Value map, Str key) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(map) && dict_next(value_dict(map), &i, &e);)
        if (field_same(key_of(e), key)) return true;
    return false;
}

static bool is_rule(Value map) { return has_key(map, STR("decide")); }

/* A hook in a list, or below `hooks`; rows of policy below `rules`; `tools_policy`. */
static bool holds_guard(Value v, bool any_event, unsigned depth, Str *key) {
    Entry *e;
    *key = (Str){ 0 };
    for (uint32_t i = 0; value_is_list(v) && depth && i < value_list(v)->n; i++)
        if (holds_guard(value_list(v)->at[i], any_event, depth - 1, key)) return *key = (Str){ 0 }, true;
    if (!value_is_dict(v)) return false;
    if (misplaced_hook(v, any_event, key) || is_space_hook(v)) return true;
    for (uint32_t i = 0; depth && dict_next(value_dict(v), &i, &e);) {
        Str unused;
        *key = key_of(e);
        if (field_same(*key, STR("hooks")) && holds_guard(e->value, any_event, depth - 1, &unused)) return true;
        if (field_same(*key, STR("rules")) && value_is_list(e->value) && value_list(e->value)->n && is_rule(value_list(e->value)->at[0])) return true;
        if (field_same(*key, STR("tools_policy")) && value_is_dict(e->value)) return true;
    }
    return false;
}

static bool is_prose(Value v) { return value_is_string(v) && str_find_char(value_str(v), ' ') >= 0; }

static bool has_prose(const List *l) {
    for (uint32_t i = 0; i < l->n; i++)
        if (is_prose(l->at[i])) return true;
    return false;
}

bool misplaced_restriction(Str key, Value value, const char **hint) {
    *hint = field_restriction(key);
    if (!*hint || value_is_string(value) || value_is_none(value)) return false;
    return !value_is_list(value) || !has_prose(value_list(value));
}

/* ---- texts ---- */

static bool is_delimiter(Str line) { return str_eq(str_trim(line), STR("---")) && line.at[0] == '-'; }

static bool has_suffix(Str name, Str suffix) { return name.n > suffix.n && field_same(str_sub(name, name.n - suffix.n, name.n), suffix); }

/* Files without an ending, and .txt, may be YAML too. */
static bool is_data(Str name) {
    static const Str suffixes[] = { STR(".yaml"), STR(".yml"), STR(".json"), STR(".jsonc"), STR(".txt") };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (has_suffix(name, suffixes[i])) return true;
    return str_find_char(name, '.') < 0;
}

/* Blank lines before the frontmatter, and blanks before its first dashes. */
static Str skip_blanks(Str text, uint32_t *first) {
    Str rest = text, line;
    for (; str_next_line(&rest, &line) && !str_trim(line).n; text = rest) ++*first;
    while (text.n && (text.at[0] == ' ' || text.at[0] == '\t')) text = str_sub(text, 1, text.n);
    return str_starts(text, STR("---")) ? text : (Str){ 0 };
}

/* The part of a file that is YAML or JSON, and the number of its first line. Empty: none. */
static Str data_of(Str name, Str text, uint32_t *first) {
    Str rest = text, line;
    if (str_starts(rest, STR("\xef\xbb\xbf"))) rest = str_sub(rest, 3, rest.n);
    *first = 1;
    Str all = rest, dashes = skip_blanks(rest, first);
    if (dashes.n) rest = dashes;
    if (!str_next_line(&rest, &line) || !line.n || !is_delimiter(line)) return *first = 1, is_data(name) ? all : STR("");
    Str yaml = rest;
    ++*first;
    for (;;) {
        size_t before = yaml.n - rest.n;
        if (!str_next_line(&rest, &line)) return yaml;
        if (line.n && is_delimiter(line)) return str_sub(yaml, 0, before);
    }
}

static Str without_quotes(Str s) {
    bool quoted = s.n > 1 && (s.at[0] == '"' || s.at[0] == '\'') && s.at[s.n - 1] == s.at[0];
    return quoted ? str_sub(s, 1, s.n - 1) : s;
}

/* For text that is not valid YAML: an unindented line "event: …", or in TOML "event = …". */
static bool find_line(Str data, uint32_t first, char sign, bool any_event, uint32_t *number) {
    Str line;
    for (*number = first; str_next_line(&data, &line); ++*number) {
        ptrdiff_t colon = str_find_char(line, sign);
        if (colon <= 0 || line.at[0] == ' ' || line.at[0] == '\t') continue;
        Str key = str_trim(str_sub(line, 0, (size_t)colon)), value = without_quotes(str_trim(str_sub(line, (size_t)colon + 1, line.n)));
        if (field_same(key, STR("event")) && (any_event || names_event(value))) return true;
        if (is_event_key(key) && names_event(value)) return true;
    }
    return false;
}

/* A file that is read only to see what it is. */
typedef struct Text { Heap *heap; Places *places; Value map; uint32_t first; Str data; bool parsed; } Text;

/* False: the file has no YAML or JSON. Close it with text_close. */
static bool text_open(Text *t, Str name, Str text) {
    Error err;
    *t = (Text){ 0 };
    t->data = data_of(name, text, &t->first);
    if (str_trim(t->data).n == 0) return false;
    t->heap = heap_new(0);
    t->places = places_new();
    t->parsed = yaml_read(t->heap, t->data, &(YamlRead){ .first_line = t->first, .places = t->places }, &t->map, &err);
    return true;
}

static void text_close(Text *t) {
    places_free(t->places);
    heap_free(t->heap);
}

static uint32_t line_of(const Text *t, Str key) {
    Place at = { 0 };
    return value_is_dict(t->map) && places_field(t->places, t->map, key, &at) ? at.line : 0;
}

bool misplaced_hook_in_text(Str name, Str text, bool any_event, uint32_t *line) {
    Text t;
    Str key;
    *line = 0;
    if (has_suffix(name, STR(".toml"))) return find_line(text, 1, '=', any_event, line);
    if (!text_open(&t, name, text)) return false;
    bool found = t.parsed ? holds_guard(t.map, any_event, 3, &key) : find_line(t.data, t.first, ':', any_event, line);
    if (t.parsed && found) *line = line_of(&t, key);
    text_close(&t);
    return found;
}

bool misplaced_policy_in_text(Str name, Str text, uint32_t *line) {
    static const Str keys[] = { STR("rules"), STR("guard"), STR("tools_policy"), STR("limits"), STR("hooks") };
    Text t;
    Entry *e;
    bool found = false;
    *line = 0;
    if (!text_open(&t, name, text)) return false;
    for (uint32_t i = 0; !found && t.parsed && value_is_dict(t.map) && dict_next(value_dict(t.map), &i, &e);)
        for (size_t k = 0; !found && k < sizeof keys / sizeof *keys; k++)
            if (field_same(key_of(e), keys[k])) {
                *line = line_of(&t, key_of(e));
                found = true;
            }
    text_close(&t);
    return found;
}

/* ---- bodies ---- */

typedef struct Block { Str text; uint32_t line; } Block;         /* between lines "---", and its first line */

/* A cheap check first: most blocks are prose and need no parser. */
static bool starts_with_key(Str block) {
    Str line;
    while (str_next_line(&block, &line)) {
        if (!str_trim(line).n) continue;
        ptrdiff_t colon = str_find_char(line, ':');
        return colon > 0 && line.at[0] != '#' && line.at[0] != '-' && line.at[0] != ' ';
    }
    return false;
}

static void report(DocumentContext *c, const Document *d, Place at, Str key, const char *hint) {
    document_report(c, d, PROBLEM_ERROR, at, str_from(hint), "\"" STR_FMT "\" is below the frontmatter and has no effect", STR_ARG(key));
}

static void check_map(DocumentContext *c, const Document *d, Value map, const Places *places, uint32_t first) {
    Str hook;
    const char *hint;
    Entry *e;
    bool is_hook = misplaced_hook(map, false, &hook);
    for (uint32_t i = 0; dict_next(value_dict(map), &i, &e);) {
        Place at = { first, 1 };
        places_field(places, map, key_of(e), &at);
        if (is_hook && str_eq(key_of(e), hook)) report(c, d, at, hook, "write it above the line --- that ends the frontmatter");
        else if (misplaced_restriction(key_of(e), e->value, &hint)) report(c, d, at, key_of(e), "write it above the line --- that ends the frontmatter");
    }
}

static void check_block(DocumentContext *c, const Document *d, const Block *b) {
    if (!starts_with_key(b->text)) return;
    Heap *heap = heap_new(0);
    Places *places = places_new();
    Value map;
    Error err;
    if (yaml_read(heap, b->text, &(YamlRead){ .first_line = b->line, .places = places }, &map, &err) && value_is_dict(map))
        check_map(c, d, map, places, b->line);
    places_free(places);
    heap_free(heap);
}

/* Lines inside a fence (```) are examples. */
void misplaced_in_body(DocumentContext *c, const Document *d) {
    Str rest = d->body, line;
    Block b = { .text = rest, .line = d->body_line };
    bool fenced = false, example = false;
    uint32_t number = d->body_line;
    for (size_t before = 0; str_next_line(&rest, &line); number++, before = d->body.n - rest.n) {
        if (str_starts(str_trim(line), STR("```"))) fenced = !fenced, example = true;
        if (fenced || !line.n || !is_delimiter(line)) continue;
        b.text.n = before - (size_t)(b.text.at - d->body.at);
        if (!example) check_block(c, d, &b);
        b = (Block){ .text = rest, .line = number + 1 };
        example = false;
    }
    if (!example) check_block(c, d, &b);
}
