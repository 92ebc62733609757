/* A clock that is wrong and a disk that is slow, for one process: preloaded, it stands before libc's own functions.

   The file named by STRANDLINE_FAULTS is mapped, and looked at in each call: four numbers of 64 bits.
       clock_offset_us    added to the time of day; the monotonic clock is left alone
       sync_delay_us      before each fsync and fdatasync
       write_delay_us     before each write to a file, not to a socket
       felt               how often one of these had an effect; written here, so that one can tell that it had
*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct faults {
    volatile int64_t clock_offset_us, sync_delay_us, write_delay_us, felt;
};

static struct faults none;
static struct faults *faults = &none;

__attribute__((constructor)) static void find_faults(void)
{
    const char *path = getenv("STRANDLINE_FAULTS");
    int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct faults), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped != MAP_FAILED)
        faults = mapped;
}

static void wait_us(int64_t delay_us)
{
    if (delay_us > 0) {
        faults->felt++;
        usleep((useconds_t)delay_us);
    }
}

static int is_file(int descriptor)
{
    struct stat found;
    return fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

static void before_write(int descriptor)
{
    if (faults->write_delay_us > 0 && is_file(descriptor))
        wait_us(faults->write_delay_us);
}

#define ORIGINAL(name) \
    static __typeof__(name) *original; \
    if (!original) \
        original = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int clock_gettime(clockid_t clock, struct timespec *now)
{
    ORIGINAL(clock_gettime);
    int outcome = original(clock, now);
    if (outcome == 0 && clock == CLOCK_REALTIME && faults->clock_offset_us) {
        int64_t ns = now->tv_nsec + (faults->clock_offset_us % 1000000) * 1000;
        now->tv_sec += faults->clock_offset_us / 1000000 + (ns >= 1000000000) - (ns < 0);
        now->tv_nsec = (ns + 1000000000) % 1000000000;
        faults->felt++;
    }
    return outcome;
}

int fsync(int descriptor)
{
    ORIGINAL(fsync);
    wait_us(faults->sync_delay_us);
    return original(descriptor);
}

int fdatasync(int descriptor)
{
    ORIGINAL(fdatasync);
    wait_us(faults->sync_delay_us);
    return original(descriptor);
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    ORIGINAL(write);
    before_write(descriptor);
    return original(descriptor, bytes, count);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t position)
{
    ORIGINAL(pwrite64);
    before_write(descriptor);
    return original(descriptor, bytes, count, position);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    ORIGINAL(writev);
    before_write(descriptor);
    return original(descriptor, parts, count);
}

ssize_t pwritev64v2(int descriptor, const struct iovec *parts, int count, off64_t position, int flags)
{
    ORIGINAL(pwritev64v2);
    before_write(descriptor);
    return original(descriptor, parts, count, position, flags);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t position)
{
    ORIGINAL(pwritev64);
    before_write(descriptor);
    return original(descriptor, parts, count, position);
}
