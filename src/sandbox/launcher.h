/* The process that starts supervisors. It is forked before harness restricts itself and holds only its socket.
 * Processes of a call whose supervisor was killed are reparented to it, and it kills them. */
#pragma once

_Noreturn void launcher_run(int socket);               /* in the forked process; exits when the other side closes */
