// A worker that starts a sandbox and is then killed by the test. Arguments: provider, marker text.
import { PidNamespace, ProcessGroup } from '@headgate/runtimes';

const [, , name, text] = process.argv;
const provider = name === 'pid-namespace' ? new PidNamespace() : new ProcessGroup();
const probe = await provider.probe();
if (probe.kind !== 'available') {
  console.log(`unavailable ${probe.detail}`);
  process.exit(3);
}
const sandbox = provider.start({
  argv: ['/bin/sh', '-c', `setsid sleep 600.${text} & sleep 600.${text}`],
  cwd: '/tmp',
  env: { PATH: '/usr/bin:/bin' },
  marker: `marker-${text}`,
});
const started = await sandbox.started;
console.log(JSON.stringify(started));
setInterval(() => {}, 1000);
