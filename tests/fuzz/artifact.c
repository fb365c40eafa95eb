/* Loads one document of any kind from memory. Loading must end with a definition, or with problems that have one line
 * and a position; loading twice must report the same. The first byte chooses the kind. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "artifact/host_names.h"
#include "artifact/load.h"
#include "artifact/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool ok) { if (!ok) abort(); }

static void tool(Loader *l, const Document *d) { LoaderPlace at = loader_file_place(l, d, SOURCE_PROJECT); load_tool(l, &at); }
static void hook(Loader *l, const Document *d) { LoaderPlace at = loader_file_place(l, d, SOURCE_PROJECT); load_hook(l, &at); }
static void agent(Loader *l, const Document *d) { LoaderPlace at = loader_file_place(l, d, SOURCE_PROJECT); load_agent(l, &at); }
static void plugin(Loader *l, const Document *d) { load_bundle(l, d, STR("plugin"), SOURCE_PROJECT); }
static void override(Loader *l, const Document *d) { load_bundle(l, d, STR("override"), SOURCE_PROJECT); }
static void prompt(Loader *l, const Document *d) { load_prompt(l, d, SOURCE_PROJECT); }
static void resource(Loader *l, const Document *d) { load_resource(l, d, SOURCE_PROJECT); }

static const struct { const char *kind, *path; DocumentFormat format; void (*load)(Loader *l, const Document *d); } kinds[] = {
    { "tool", "x.md", DOCUMENT_MARKDOWN, tool },       { "hook", "x.md", DOCUMENT_MARKDOWN, hook },
    { "agent", "x.md", DOCUMENT_MARKDOWN, agent },     { "bundle", "x.md", DOCUMENT_MARKDOWN, plugin },
    { "bundle", "x.md", DOCUMENT_MARKDOWN, override }, { "prompt", "x.md", DOCUMENT_MARKDOWN, prompt },
    { "resource", "x.md", DOCUMENT_MARKDOWN, resource }, { "test", "x.yaml", DOCUMENT_YAML, load_test },
    { "config", "harness.yaml", DOCUMENT_YAML, load_settings_from }, { "config", "harness.md", DOCUMENT_MARKDOWN, load_settings_from },
};

static Universe *universe;                               /* created once: creation costs more than most inputs */
static Heap *host_heap;
static HostNames host;
static int root = -1;

static void set_up(void) {
    host_heap = heap_new(0);
    universe = universe_new();
    require(host_names_make(host_heap, NULL, &host, NULL));
    heap_freeze_all(host_heap);
    root = open("/proc/self/fdinfo", O_PATH | O_DIRECTORY | O_CLOEXEC);   /* a folder without project files */
}

static void run(uint8_t choice, Str text, Problems *problems) {
    size_t k = choice % (sizeof kinds / sizeof *kinds);
    ProjectInput in = { .universe = universe, .predeclared = host.tools, .hook_predeclared = host.hooks, .lenient = choice & 64, .strict = choice & 128 };
    Loader l;
    Document d;
    require(loader_start(&l, &in, root, problems));
    if (document_parse(&l.docs, kinds[k].kind, str_from(kinds[k].path), kinds[k].format, text, &d)) {
        if (kinds[k].load == load_settings_from) {
            l.settings = d;                               /* the loader owns it from here on */
            load_settings_from(&l, &l.settings);
            load_inline(&l);
        } else {
            kinds[k].load(&l, &d);
            document_clear(&d);
        }
        resolve_project(&l);
    }
    project_free(loader_finish(&l, problems->errors == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 1) return 0;
    if (!universe) set_up();
    Str text = { (const char *)data + 1, n - 1 };
    Problems first = { 0 }, second = { 0 };
    run(data[0], text, &first);
    run(data[0], text, &second);
    require(first.n == second.n && first.errors == second.errors && first.dropped == second.dropped);
    for (size_t i = 0; i < first.n; i++) {
        const Problem *p = &first.at[i];
        require(str_eq(p->message, second.at[i].message) && p->line == second.at[i].line && p->column == second.at[i].column);
        require(p->line >= 1 && p->column >= 1 && p->message.n > 0);
    }
    problems_clear(&first);
    problems_clear(&second);
    return 0;
}
