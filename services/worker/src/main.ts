/** `headgate worker` as a process of its own. */
import { runService } from '@headgate/service';
import { createWorker } from './worker.js';

await runService('worker', (context) => createWorker(context));
