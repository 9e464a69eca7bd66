import { extendZodWithOpenApi } from '@asteasolutions/zod-to-openapi';
import { REASON_CODES } from '@headgate/domain';
import { z } from 'zod';

extendZodWithOpenApi(z);

/**
 * A schema that is the same as a type of the client, in both directions: a field that one of them lacks, or has with
 * another type, does not compile.
 */
export const shapeOf =
  <Shape>() =>
  <Schema extends z.ZodType<Shape>>(
    schema: Schema & (Shape extends z.infer<Schema> ? unknown : never),
  ): Schema =>
    schema;

export const instant = z.iso.datetime().openapi({ description: 'RFC 3339, UTC' });
export const usd = z.number().openapi({ description: 'USD' });
export const reasonCode = z.enum(REASON_CODES).openapi('ReasonCode');

/** Of a schema with a name: `.nullable()` would add "null" to a type that the named schema does not have. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()]);

/** `{ items, nextCursor }`. */
export const pageOf = <Item extends z.ZodType>(item: Item, name: string) =>
  z
    .object({
      items: z.array(item),
      nextCursor: z.string().nullable().openapi({ description: 'Give it back as ?cursor=; null = the end' }),
    })
    .openapi(name);

/** The fields of `AboutRun`. */
export const aboutRunFields = {
  runId: z.string(),
  taskId: z.string(),
  tenant: z.string(),
  route: z.string(),
  repository: z.string().nullable(),
  workKey: z.string(),
};

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  cursor: z.string().min(1).max(200).optional(),
};
export const timeQuery = {
  since: z.iso.datetime({ offset: true }).optional().openapi({ description: 'Created at or after' }),
  until: z.iso.datetime({ offset: true }).optional().openapi({ description: 'Created before' }),
};
/** Text that Postgres can compare with. */
export const storableText = (maxCharacters: number) =>
  z
    .string()
    .min(1)
    .max(maxCharacters)
    .refine((text) => !text.includes('\u0000'), 'it holds a NUL character');
/** A filter: one value, not empty, not endless. */
export const filterText = storableText(2_048).optional();
/** 200 ids and their commas. */
export const idsText = storableText(8_192).optional();

export { z };
