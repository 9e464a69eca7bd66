/**
 * A route of the API, declared once: what it takes, who may call it, what it answers. Express, the OpenAPI document and
 * the contract test are all derived from it (law 8).
 */
import type { TokenRole } from '@headgate/store';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Caller } from '../auth/index.js';

export type ObjectSchema = z.ZodObject;

export interface RouteSpec<Query extends ObjectSchema, Body extends ObjectSchema, Answer extends z.ZodType> {
  readonly id: string;
  readonly method: 'get' | 'post';
  /** As OpenAPI writes it: `/v1/runs/{id}`. */
  readonly path: string;
  readonly tag: 'Receipts' | 'Tasks' | 'Runs' | 'Operations' | 'Schedules' | 'Goals' | 'Why' | 'Work';
  readonly summary: string;
  readonly role: TokenRole;
  /** Unknown names are errors: a filter that is ignored would answer with wrong rows. */
  readonly query: Query;
  readonly body: Body | null;
  /** `bytes`: the handler writes the answer itself. */
  readonly answer: { readonly status: 200 | 202; readonly schema: Answer | 'bytes' };
  /** Statuses of problems besides 400, 401, 403, 429 and 500. */
  readonly problems: readonly number[];
}

export interface RouteInput<Query, Body> {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly request: Request;
  readonly response: Response;
}

/** A route with its types forgotten, for lists. */
export interface Route {
  readonly spec: RouteSpec<ObjectSchema, ObjectSchema, z.ZodType>;
  readonly handle: (input: RouteInput<unknown, unknown>) => Promise<unknown>;
}

export function route<Query extends ObjectSchema, Body extends ObjectSchema, Answer extends z.ZodType>(
  spec: RouteSpec<Query, Body, Answer>,
  handle: (input: RouteInput<z.infer<Query>, z.infer<Body>>) => Promise<z.infer<Answer>>,
): Route {
  return {
    spec,
    // The mounting parses query and body with these very schemas before it calls.
    handle: (input) => handle(input as RouteInput<z.infer<Query>, z.infer<Body>>),
  };
}
