import { runService } from '@headgate/service';
import { createScheduler } from './scheduler.js';

await runService('scheduler', (context) => createScheduler(context));
