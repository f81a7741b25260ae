/* Preloaded: every write and sync of the files whose names begin as RECORDED says is added to the file RECORD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct head { char op, file, pad[6]; int64_t offset, length; };

/* Return 'd' for the database, 'w' for its log, 0 for any other file. */
static char file_of(int fd) {
  char link[64], name[4096];
  const char *wanted = getenv("RECORDED");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = wanted ? readlink(link, name, sizeof name - 1) : -1;
  if (length < 0) return 0;
  name[length] = 0;
  size_t prefix = strlen(wanted);
  if (strncmp(name, wanted, prefix)) return 0;
  return !name[prefix] ? 'd' : !strcmp(name + prefix, "-wal") ? 'w' : 0;
}

static void record(char op, char file, const void *data, int64_t length, int64_t offset) {
  static int out = -1;
  if (out < 0) out = open(getenv("RECORD"), O_WRONLY | O_APPEND | O_CLOEXEC);
  struct head head = {op, file, {0}, offset, length};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, data ? length : 0}};
  if (writev(out, parts, 2) < 0) _exit(99);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  ssize_t done = REAL(pwrite64)(fd, data, length, offset);
  char file = done > 0 ? file_of(fd) : 0;
  if (file) record('w', file, data, done, offset);
  return done;
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

int ftruncate64(int fd, off64_t length) {
  char file = file_of(fd);
  if (file) record('t', file, NULL, length, 0);
  return REAL(ftruncate64)(fd, length);
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fdatasync(int fd) {
  int failed = REAL(fdatasync)(fd);
  char file = failed ? 0 : file_of(fd);
  if (file) record('s', file, NULL, 0, 0);
  return failed;
}
int fsync(int fd) {
  int failed = REAL(fsync)(fd);
  char file = failed ? 0 : file_of(fd);
  if (file) record('s', file, NULL, 0, 0);
  return failed;
}
