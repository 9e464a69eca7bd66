// Starts built services as their own main.js does, with options that only code can give them, or several in one
// process: `node test/harness/service.mjs worker`, `… intake scheduler worker`. Options: HEADGATE_TEST_OPTIONS, JSON
// by service.
import { createRequire } from 'node:module';
import { chooseSandbox, PidNamespace, ProcessGroup } from '../../packages/runtimes/dist/index.js';
import { runService } from '../../packages/service/dist/index.js';

const MAKERS = {
  intake: 'createIntake',
  scheduler: 'createScheduler',
  worker: 'createWorker',
  reconciler: 'createReconciler',
  console: 'createConsole',
};

const names = process.argv.slice(2);
const options = JSON.parse(process.env['HEADGATE_TEST_OPTIONS'] ?? '{}');

await runService(names.length === 1 ? names[0] : 'together', async (context) => {
  const services = [];
  for (const name of names) {
    const face = await import(`../../services/${name}/dist/index.js`);
    services.push(await face[MAKERS[name]](context, await optionsOf(name)));
  }
  return services.length === 1 ? services[0] : together(services);
});

/**
 * The agents of these tests are lines of shell that the tests themselves have written: the harness vouches for them, as
 * an operator could not, and needs no isolation.
 */
async function optionsOf(name) {
  const given = options[name] ?? {};
  if (name !== 'worker') return given;
  // Not the isolating one: it would hide the gates by which a test holds an agent.
  const chosen = await chooseSandbox([new PidNamespace(), new ProcessGroup()]);
  const { provider } = chosen;
  return {
    ...given,
    sandbox: {
      ...chosen,
      warning: null,
      provider: {
        name: provider.name,
        isolation: provider.isolation,
        mayRunUntrusted: true,
        hasNetworkList: false,
        probe: () => provider.probe(),
        start: (spec) => provider.start(spec),
      },
    },
  };
}

/** Several services as one: started in order, ended in the opposite order. */
function together(services) {
  const each = async (list, act) => {
    for (const service of list) await act(service);
  };
  return {
    name: 'together',
    router: routerOf(services),
    start: () => each(services, (service) => service.start()),
    ready: () => each(services, (service) => service.ready()),
    drain: () => each(services, (service) => service.drain()),
    stop: () => each([...services].reverse(), (service) => service.stop()),
  };
}

function routerOf(services) {
  // Express belongs to the package that serves HTTP.
  const { Router } = createRequire(new URL('../../packages/service/package.json', import.meta.url))(
    'express',
  );
  const router = Router();
  for (const service of services) if (service.router !== null) router.use(service.router);
  return router;
}
