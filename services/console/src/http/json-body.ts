/** Bodies of the API: read under the bounds of every body of the system, and refused where two readers would differ. */
import { readJsonBody } from '@headgate/sources';
import express, { type RequestHandler } from 'express';
import { badRequest } from './problems.js';

/** Leaves the value as `request.body`; no body at all is an empty object. */
export function jsonBody(limit: string): readonly RequestHandler[] {
  const read: RequestHandler = (request, _response, next) => {
    const bytes: unknown = request.body;
    if (!Buffer.isBuffer(bytes) || bytes.length === 0) {
      request.body = {};
      return next();
    }
    const body = readJsonBody(bytes, 'refuse');
    if (body.kind === 'unreadable') throw badRequest(body.detail);
    request.body = body.value;
    next();
  };
  return [express.raw({ limit, type: () => true }), read];
}
