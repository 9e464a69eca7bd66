import { z } from 'zod';
import { notSupported, type Section } from '../not-supported.js';
import { suggest } from '../problems/index.js';
import { encode } from './complaint.js';

/** An object whose unknown keys are errors that name the nearest valid key. */
export function strict<Shape extends z.core.$ZodShape>(
  section: Section | null,
  shape: Shape,
): z.ZodObject<z.core.util.Writeable<Shape>, z.core.$strict> {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? encode(
            issue.keys.map((key) => {
              const later = section === null ? null : notSupported(section, key);
              return later === null
                ? { key, message: `"${key}" is not known here`, fix: suggest(key, names) }
                : { key, isLater: true, ...later };
            }),
          )
        : undefined,
  });
}
