import { runService } from '@headgate/service';
import { createIntake } from './intake.js';

await runService('intake', (context) => createIntake(context));
