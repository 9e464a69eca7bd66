/** The OpenAPI document, from the declared routes and their schemas. */
import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import type { Route } from '../http/index.js';
import {
  problemSchema,
  signalAnswerSchema,
  streamBeatSchema,
  streamChangeSchema,
  streamReloadSchema,
  workBody,
  z,
} from '../schemas/index.js';

export type OpenApiDocument = ReturnType<OpenApiGeneratorV31['generateDocument']>;

export function openApiDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  const bearer = registry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'hg_… tokens; roles viewer < operator < approver < admin',
  });
  const session = registry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: 'headgate_session',
  });
  const security = [{ [bearer.name]: [] }, { [session.name]: [] }];
  for (const { spec } of routes) {
    registry.registerPath({
      operationId: spec.id,
      method: spec.method,
      path: spec.path,
      tags: [spec.tag],
      summary: spec.summary,
      description: `Role: ${spec.role}.`,
      security,
      request: {
        params: paramsOf(spec.path),
        query: spec.query,
        ...(spec.answer.schema === 'events'
          ? { headers: z.object({ 'Last-Event-ID': z.string().optional() }) }
          : {}),
        ...(spec.body === null
          ? {}
          : { body: { required: false, content: { 'application/json': { schema: spec.body } } } }),
      },
      responses: {
        [spec.answer.status]: answerOf(spec),
        ...problemsOf([400, 401, 403, ...spec.problems, 429, 500]),
      },
    });
  }
  describeStream(registry);
  describeIntake(registry, security);
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version,
      description: 'The control plane between what wakes coding agents and the agents. Errors are RFC 9457.',
    },
    servers: [{ url: '/' }],
  });
}

function answerOf({ answer, summary }: Route['spec']) {
  switch (answer.schema) {
    case 'bytes':
      return {
        description: 'The bytes; of a range (RFC 9110) with 206',
        content: {
          'application/octet-stream': { schema: z.string().openapi({ format: 'binary' }) },
          'text/plain': { schema: z.string() },
        },
      };
    case 'events':
      return {
        description:
          'Server-sent events: `change` (data: StreamChange), `beat` (StreamBeat), `reload` (StreamReload). Each change and beat has an id; send the last one back as Last-Event-ID to go on from there. A change may come twice.',
        content: { 'text/event-stream': { schema: z.string() } },
      };
    default:
      return { description: summary, content: { 'application/json': { schema: answer.schema } } };
  }
}

/** What the data of server-sent events is, for the schemas of the document. */
function describeStream(registry: OpenAPIRegistry): void {
  for (const [name, schema] of Object.entries({
    StreamChange: streamChangeSchema,
    StreamBeat: streamBeatSchema,
    StreamReload: streamReloadSchema,
  })) {
    registry.register(name, schema);
  }
}

/** What the intake serves, on the same port in `headgate up`: described here, where people look. */
function describeIntake(registry: OpenAPIRegistry, security: Record<string, string[]>[]): void {
  registry.registerPath({
    operationId: 'submitWork',
    method: 'post',
    path: '/v1/work',
    tags: ['Work'],
    summary: 'Ask for work by hand',
    description:
      'Role: operator. A refusal answers with the HTTP status of its reason code, and names its receipt.',
    security: security.slice(0, 1),
    request: {
      headers: z.object({ 'Idempotency-Key': z.string().optional() }),
      body: { required: true, content: { 'application/json': { schema: workBody } } },
    },
    responses: {
      202: { description: 'Decided', content: { 'application/json': { schema: signalAnswerSchema } } },
      ...problemsOf([400, 401, 403, 404, 409, 422, 429, 503]),
    },
  });
  registry.registerPath({
    operationId: 'deliverWebhook',
    method: 'post',
    path: '/webhooks/{source}',
    tags: ['Work'],
    summary: 'Where a source delivers: signed, 202 for every outcome',
    security: [],
    request: {
      params: z.object({ source: z.string() }),
      body: {
        required: true,
        content: { 'application/json': { schema: z.unknown().openapi({ type: 'object' }) } },
      },
    },
    responses: {
      202: { description: 'Decided', content: { 'application/json': { schema: signalAnswerSchema } } },
      ...problemsOf([400, 401, 404, 413, 415, 503]),
    },
  });
}

const problemsOf = (statuses: readonly number[]) =>
  Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: 'Problem', content: { 'application/problem+json': { schema: problemSchema } } },
    ]),
  );

const paramsOf = (path: string) =>
  z.object(Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, z.string()])));
