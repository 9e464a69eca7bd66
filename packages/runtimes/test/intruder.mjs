// What an agent might try. Runs inside a sandbox, from its workspace; argument: JSON of {read, write, port, hostPid}.
// Prints JSON of what it got at.
import { execFileSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { readdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';

const { read, write, port, hostPid } = JSON.parse(process.argv[2]);

const attempt = (act) => {
  try {
    return act();
  } catch {
    return null;
  }
};
const works = (act) =>
  attempt(() => {
    act();
    return true;
  }) ?? false;
const reaches = (where) =>
  new Promise((resolve) => {
    const socket = connect({ ...where, timeout: 2000 }, () => resolve(true));
    for (const event of ['error', 'timeout']) socket.on(event, () => resolve(false));
  });

const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
const ownServer = await new Promise((resolve) => {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1', () => resolve(server));
});
const status = readFileSync('/proc/self/status', 'utf8');
const field = (name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];

console.log(
  JSON.stringify({
    read: read.filter((path) => attempt(() => readFileSync(path, 'utf8')) !== null),
    listed: read.filter((path) => attempt(() => readdirSync(path)) !== null),
    written: write.filter((path) => works(() => writeFileSync(path, 'x'))),
    environments: pids
      .map((pid) => attempt(() => readFileSync(`/proc/${pid}/environ`, 'utf8')) ?? '')
      .join('\n'),
    commandLines: pids.map((pid) => attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? ''),
    processCount: pids.length,
    signalsHost: works(() => process.kill(hostPid, 0)),
    users: readFileSync('/etc/passwd', 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(':')[0]),
    uid: process.getuid(),
    capabilities: ['CapEff', 'CapPrm', 'CapBnd', 'CapInh', 'CapAmb'].map(field),
    noNewPrivileges: field('NoNewPrivs'),
    groups: field('Groups'),
    makesUserNamespace: works(() => execFileSync('unshare', ['--user', 'true'], { stdio: 'ignore' })),
    mounts: works(() => execFileSync('mount', ['-t', 'tmpfs', 'x', '/tmp'], { stdio: 'ignore' })),
    reachesTheHost: await reaches({ host: '127.0.0.1', port }),
    reachesTheInternet: await reaches({ host: '1.1.1.1', port: 443 }),
    resolves: await lookup('example.com').then(
      () => true,
      () => false,
    ),
    reachesItself: await reaches({ host: 'localhost', port: ownServer.address().port, family: 4 }),
    interfaces: Object.keys(networkInterfaces()),
    scratchBytes: ['/tmp', process.env.HOME, process.env.TMPDIR, '/dev/shm'].map((path) => {
      const { blocks, bsize } = statfsSync(path);
      return blocks * bsize;
    }),
  }),
);
ownServer.close();
