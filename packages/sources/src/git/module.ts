import type { SourceModule } from '../kinds/source-module.js';

/** A repository that only git reaches: nobody tells us, so its branches are looked at. */
export const git: SourceModule = { kind: 'git', hook: null, judge: () => null };
