/* Preloaded: moves the wall clock of a process by the seconds that the file CLOCK_OFF holds, as eight bytes, at the time.
   The monotonic clock stays. libfaketime 0.9.10, told to leave that one, lets `time.sleep` fail (EINVAL). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t none = 0;

static int64_t off(void) {
    static const volatile int64_t *shared;
    if (!shared) {
        const char *path = getenv("CLOCK_OFF");
        int file = path ? open(path, O_RDONLY) : -1;
        void *found = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
        if (file >= 0) close(file);
        shared = found == MAP_FAILED ? &none : found;
    }
    return *shared;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += off();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *told) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (told) *told = found.tv_sec;
    return found.tv_sec;
}
