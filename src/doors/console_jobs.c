/* Other processes of this program that run in the background. */
#include "doors/console_private.h"
#include <stdlib.h>
#include "base/mem.h"

struct ConsoleJobs { Console *console; };

ConsoleJobs *console_jobs_new(Console *console) {
    ConsoleJobs *j = mem_zero(1, sizeof *j);
    j->console = console;
    return j;
}

void console_jobs_free(ConsoleJobs *j) { free(j); }
