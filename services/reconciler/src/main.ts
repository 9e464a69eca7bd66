import { runService } from '@headgate/service';
import { createReconciler } from './reconciler.js';

await runService('reconciler', (context) => createReconciler(context));
