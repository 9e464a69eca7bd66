# Gives the program of its arguments what a worker may be started with: a session keyring that holds a key, and a
# descriptor that somebody left open.
use POSIX qw(uname dup2);
my $arm = (uname())[4] eq 'aarch64';
syscall($arm ? 219 : 250, 1, 0) >= 0 or die "no keyrings here: $!";
my ($type, $name, $secret) = ('user', 'headgate-canary', 'secret');
syscall($arm ? 217 : 248, $type, $name, $secret, 6, -3) >= 0 or die "no key: $!";
open(my $own, '<', $0) or die $!;
dup2(fileno $own, 40) or die $!;
exec @ARGV;
