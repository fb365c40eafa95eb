/* The process that starts supervisors. It was forked before harness restrained itself, holds nothing but its socket, and
 * is where the processes of a call end up whose supervisor was killed: it ends them too. */
#pragma once

_Noreturn void launcher_run(int socket);               /* in the forked process; ends when the other side closes */
