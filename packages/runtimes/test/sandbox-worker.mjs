// A worker in a process of its own, to be killed by a test or run as another user. Argument: JSON of
// {provider, controlGroups, spec}. Prints a line when the sandbox has started, and one when it has ended.
import { Bubblewrap, Container, PidNamespace, ProcessGroup, SandboxRuntime } from '@headgate/runtimes';

const { provider: name, controlGroups, spec } = JSON.parse(process.argv[2]);
const providers = {
  bubblewrap: () => new Bubblewrap({ controlGroups }),
  'sandbox-runtime': () => new SandboxRuntime({ controlGroups }),
  'pid-namespace': () => new PidNamespace(),
  container: () => new Container(JSON.parse(process.env.HEADGATE_TEST_CONTAINER)),
  'process-group': () => new ProcessGroup(),
};
const provider = providers[name]();
const probe = await provider.probe();
if (probe.kind !== 'available') {
  console.log(JSON.stringify({ kind: 'unavailable', probe }));
  process.exit(3);
}
const sandbox = provider.start(spec);
let output = '';
for (const stream of [sandbox.stdout, sandbox.stderr]) {
  stream.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
}
const started = await sandbox.started;
console.log(JSON.stringify(started));
const exit = await sandbox.exited;
console.log(JSON.stringify({ ...exit, output }));
