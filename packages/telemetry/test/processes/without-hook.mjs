// The mistake that stays silent without the self-test: an SDK that starts without the loader hook.

import { selfTestInstrumentation } from '../../dist/index.js';
import { setRegisteredSdk } from '../../dist/tracing/sdk-state.js';
import { startSdk } from '../../dist/tracing/start-sdk.js';

setRegisteredSdk(startSdk(process.env));
console.log(JSON.stringify({ state: await selfTestInstrumentation() }));
process.exit(0);
