import { runService } from '@headgate/service';
import { createConsole } from './console.js';

await runService('console', createConsole);
