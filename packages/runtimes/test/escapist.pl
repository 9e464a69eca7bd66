# What an agent might ask of the kernel. Runs inside a sandbox; arguments: port of the host, abstract socket of the host.
# Prints a line for each way out that it found, and "done". System calls by number: x64 and arm64.
use strict; use warnings; use Socket; use Errno qw(ENOSYS); use POSIX qw(uname);
my ($port, $abstract) = @ARGV;
my $arm = (uname())[4] eq 'aarch64';
sub call { my ($x64, $arm64, @rest) = @_; return syscall($arm ? $arm64 : $x64, @rest); }
$| = 1;
sub out { print join(' ', @_), "\n"; }

my ($type, $name, $secret) = ('user', 'headgate-canary', 'x' x 64);
# Descriptors that were forgotten, before anything else is open.
opendir(my $own, '/proc/self/fd') or die $!;
my $listing = qr{/escapist\.pl$|^/proc/|^/dev/null$};
my @held = grep { $_ ne '' && $_ !~ $listing } map { /^\d+$/ && $_ > 2 ? readlink("/proc/self/fd/$_") // '' : '' } readdir $own;
out('holds', @held) if @held;
closedir $own;

# Keys of whoever started the worker: in the session's keyring (-3), whatever the namespace and the user.
my $key = call(250, 219, 10, -3, $type, $name, 0);
out('finds a key of the worker') if $key >= 0;
out('keeps a key') if call(248, 217, $type, 'mine', $secret, 8, -3) >= 0;
out('no answer of a missing call: ' . $!) if $! != ENOSYS;

# The machine's own log, and doors that other filters do not see.
my $log = "\0" x 4096;
out('reads the log of the machine') if call(103, 116, 3, $log, 4096) >= 0;
my $params = "\0" x 256;
out('makes an io_uring') if call(425, 425, 4, $params) >= 0;
out('loads a program into the kernel') if call(321, 280, 0, $params, 72) >= 0 || $! != ENOSYS;
out('counts events of the processor') if call(298, 241, $params, 0, -1, -1, 0) >= 0 || $! != ENOSYS;
# Some filters end the process for it.
if (!$arm && (my $child = fork) == 0) { exit(syscall(0x40000000 + 39) >= 0 ? 1 : 0) }
elsif (!$arm) { waitpid $child, 0; out('uses numbers of x32') if $? == 256; }

# Namespaces (CLONE_NEWUSER), devices, handles of files outside, priority over others.
out('makes a user namespace') if call(272, 97, 0x10000000) == 0;
out('makes a device') if !$arm && syscall(133, "$ENV{HEADGATE_WORKSPACE}/disk", 0060600, 0x0800) == 0;
out('goes before others') if call(141, 140, 0, 0, -10) == 0;
out('has time of its own') if call(144, 119, 0, 1, pack('i', 1)) == 0;

# Sockets of the host: by name without a file, by port.
if (socket(my $local, AF_UNIX, SOCK_STREAM, 0)) {
  out('reaches an abstract socket of the host') if connect($local, pack('S a*', AF_UNIX, "\0$abstract"));
}
socket(my $internet, PF_INET, SOCK_STREAM, 0) or die $!;
out('reaches a port of the host') if connect($internet, sockaddr_in($port, INADDR_LOOPBACK));
out('has a raw socket') if socket(my $raw, PF_INET, SOCK_RAW, 1);

# A terminal to type into, doors of /proc.
out('has a terminal') if open(my $terminal, '+<', '/dev/tty');
for my $door ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe') {
  out("writes $door") if open(my $file, '>', $door);
}
for my $path ('/proc/kcore', '/proc/1/root/etc/shadow', '/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda') {
  open(my $file, '<', $path) or next;
  out("reads $path") if sysread($file, my $byte, 1);
}
if (open(my $adjust, '>', '/proc/self/oom_score_adj')) {
  out('is spared when memory runs out') if syswrite($adjust, "-1000\n");
}
out('done');
